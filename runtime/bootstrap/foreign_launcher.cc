#include "runtime/bootstrap/foreign_launcher.h"

#include <string_view>

namespace weft {
namespace {

struct Launcher {
  const char* name;
  const char* marks[3];  // All of them are set in its processes; unused ones are null.
  const char* sizes[2];  // Either says how many there are.
};

// The first that fits names it, so what stands on another comes first: Hydra and
// srun --mpi=pmi2 both set PMI_*, and Open MPI's daemons may run under srun.
constexpr Launcher kLaunchers[] = {
    {"mpirun of Open MPI", {"OMPI_COMM_WORLD_SIZE"}, {"OMPI_COMM_WORLD_SIZE"}},
    {"srun of Slurm", {"SLURM_STEP_ID", "SLURM_PROCID"}, {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}},
    {"a launcher that speaks PMIx (prterun or mpirun)", {"PMIX_RANK"}, {}},
    {"mpiexec of MPICH (Hydra)", {"MPI_LOCALNRANKS", "PMI_RANK"}, {"PMI_SIZE"}},
    {"a launcher that speaks PMI (mpiexec or srun)", {"PMI_RANK"}, {"PMI_SIZE"}},
    {"a launcher that speaks PMI (mpiexec or srun)", {"PMI_FD"}, {"PMI_SIZE"}},
    {"a launcher that speaks PMI (mpiexec or srun)", {"PMI_SIZE"}, {"PMI_SIZE"}},
    {"torchrun or a Kubernetes job", {"RANK", "WORLD_SIZE", "MASTER_ADDR"}, {"WORLD_SIZE"}},
};

bool Fits(const Launcher& launcher, const Environment& environment) {
  for (const char* mark : launcher.marks) {
    if (mark != nullptr && environment(mark) == nullptr) return false;
  }
  return true;
}

// An interactive shell under srun is one of one; what runs there is alone.
bool StartedAlone(const Launcher& launcher, const Environment& environment) {
  for (const char* size : launcher.sizes) {
    const char* value = size == nullptr ? nullptr : environment(size);
    if (value != nullptr) return std::string_view(value) == "1";
  }
  return false;
}

}  // namespace

std::optional<std::string> ForeignLauncher(const Environment& environment) {
  for (const Launcher& launcher : kLaunchers) {
    if (Fits(launcher, environment) && !StartedAlone(launcher, environment)) return launcher.name;
  }
  return std::nullopt;
}

}  // namespace weft
