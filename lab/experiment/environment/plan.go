package environment

import "dyno/parts/process"

// ownCoreFrom is the number of cores from which the load generator has a core to itself. On a
// smaller machine the service would have too few cores left to show contention, which is most of
// what there is to find.
const ownCoreFrom = 4

// CPUPlan divides the cores between load generator and target. With 4 or more, the generator gets
// the last core and the target gets the others. With fewer, both results are nil: the processes
// share all cores. The numbers are those of CPUs that this process may use.
func CPUPlan(cores int) (generator, target []int) { return planOf(process.AllowedCPUs(), cores) }

func planOf(allowed []int, cores int) (generator, target []int) {
	cores = min(cores, len(allowed))
	if cores < ownCoreFrom {
		return nil, nil
	}
	return allowed[cores-1 : cores : cores], allowed[: cores-1 : cores-1]
}
