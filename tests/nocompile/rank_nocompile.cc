// A rank where a TeamIndex belongs, and the other way round.
#include "weft/rank.h"

void TakeIndex(weft::TeamIndex index);
void TakeRank(weft::Rank rank);

// MISUSE(rank_as_team_index): could not convert .* to .*TeamIndex
void Use(weft::Rank rank) { TakeIndex(rank); }
// CORRECTED
void Use(weft::Rank rank) { TakeIndex(weft::TeamIndex(rank)); }
// END

// MISUSE(team_index_as_rank): cannot convert .*TeamIndex.* to .*Rank
void Use(weft::TeamIndex index) { TakeRank(index); }
// CORRECTED
void Use(weft::TeamIndex index) { TakeRank(index.value()); }
// END
