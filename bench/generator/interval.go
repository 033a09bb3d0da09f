package main

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// logRatio returns the geometric mean of a[i]/b[i] with the 95% interval that Student's t gives for the
// mean of the logarithms: a ratio's errors are multiplicative.
func logRatio(a, b []float64) (ratio, low, high float64) {
	logs := make([]float64, len(a))
	for i := range a {
		logs[i] = math.Log(a[i] / b[i])
	}
	mean, deviation := stat.MeanStdDev(logs, nil)
	n := float64(len(logs))
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975) * deviation / math.Sqrt(n)
	return math.Exp(mean), math.Exp(mean - half), math.Exp(mean + half)
}

func geometricMean(x []float64) float64 { return stat.GeometricMean(x, nil) }
