package environment

import "dyno/parts/process"

// ownCoreFrom is the number of cores from which the load generator has one to itself. On a
// smaller machine the rest would leave the service too few cores to show contention, which is
// most of what there is to find.
const ownCoreFrom = 4

// CPUPlan divides cores between the load generator and the target: with 4 or more, the last is
// the generator's and the others are the target's; with fewer both are nil, which means that they
// share all. The numbers are those of CPUs that this process may use.
func CPUPlan(cores int) (generator, target []int) { return planOf(process.AllowedCPUs(), cores) }

func planOf(allowed []int, cores int) (generator, target []int) {
	cores = min(cores, len(allowed))
	if cores < ownCoreFrom {
		return nil, nil
	}
	return allowed[cores-1 : cores : cores], allowed[: cores-1 : cores-1]
}
