// Package queueing holds what theory says of a bounded queue in front of c servers (M/M/c/N), to stand
// beside what was measured, and the Pareto front of measured queues.
package queueing

// Prediction is the steady state of a bounded queue.
type Prediction struct {
	Blocking       float64 `json:"blocking"` // share of arrivals that find it full
	ThroughputPerS float64 `json:"throughput_per_s"`
	MeanWaitMs     float64 `json:"mean_wait_ms"` // before service, of those admitted
	MeanMs         float64 `json:"mean_ms"`      // wait and service
	P99Ms          float64 `json:"p99_ms"`       // of wait and service
}

// MM1N is the queue with one server and room for n, the one in service included.
func MM1N(lambda, mu float64, n int) Prediction { return Prediction{} }

// MMcN is the queue with c servers of rate mu each and room for n, those in service included.
func MMcN(lambda, mu float64, c, n int) Prediction { return Prediction{} }

// Point is a measured queue.
type Point struct {
	Name     string  `json:"name,omitempty"`
	N        int     `json:"n"` // room
	P99Ms    float64 `json:"p99_ms"`
	DropRate float64 `json:"drop_rate"` // share of offers
}

// Pareto returns the points that no other point beats in all three, by room.
func Pareto(points []Point) []Point { return nil }
