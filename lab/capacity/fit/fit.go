// Package fit draws scaling curves through measured throughputs: the Universal Scalability Law for
// sweeps of concurrency, and a logarithm with a decay for job-like sweeps. It predicts nothing outside
// the range it was fitted on without saying so.
package fit

// Point is a measured throughput.
type Point struct {
	N float64 // concurrency: clients, workers or cores
	L float64 // load per job, in the sweep's own unit; only the Log model reads it. 0 counts as 1
	X float64 // throughput, 1/s
}

// Curve is a fitted model.
type Curve struct {
	Model     string    `json:"model"` // usl | log
	Formula   string    `json:"formula"`
	Lambda    float64   `json:"lambda,omitempty"` // usl: throughput of one, 1/s
	Sigma     float64   `json:"sigma,omitempty"`  // usl: serial share
	Kappa     float64   `json:"kappa,omitempty"`  // usl: coherence share
	A         float64   `json:"a,omitempty"`      // log
	B         float64   `json:"b,omitempty"`      // log
	PeakN     *float64  `json:"peak_n"`           // nil: the model has no peak
	PeakX     float64   `json:"peak_per_s,omitempty"`
	Residuals []float64 `json:"residuals"` // measured - fitted, 1/s, in the points' order
	StdError  float64   `json:"std_error"` // residual standard error, 1/s
	Warnings  []string  `json:"warnings"`
}

// At returns the fitted throughput at concurrency n and load l, in 1/s.
func (c Curve) At(n, l float64) float64 { return 0 }

// USL fits X(N) = lambda*N / (1 + sigma*(N-1) + kappa*N*(N-1)).
func USL(points []Point) (Curve, error) { return Curve{}, nil }

// Log fits X(c) = a*log2(c)*exp(-b*L/c).
func Log(points []Point) (Curve, error) { return Curve{}, nil }

// Best returns the curve with the smallest residual standard error, and the comparison in words.
func Best(curves ...Curve) (Curve, string) { return Curve{}, "" }
