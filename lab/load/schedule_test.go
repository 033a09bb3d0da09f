package load

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dyno/lab/workload"
)

func drawSchedule(t *rapid.T, length time.Duration) (make func() Schedule, mean, slack float64) {
	rate := rapid.Float64Range(0.5, 50_000).Draw(t, "per second")
	to := rapid.Float64Range(0, 50_000).Draw(t, "to")
	seconds := length.Seconds()
	switch rapid.SampledFrom([]string{"constant", "poisson", "steps", "ramp"}).Draw(t, "kind") {
	case "constant":
		return func() Schedule { return Constant(rate, length) }, rate * seconds, 2
	case "poisson":
		seed := rapid.Uint64().Draw(t, "seed")
		return func() Schedule { return Poisson(rate, length, seed) }, rate * seconds, 2 + 6*math.Sqrt(rate*seconds)
	case "steps":
		half := length / 2
		stages := []workload.Stage{{Rate: rate, Length: half}, {Rate: to, Length: length - half}}
		return func() Schedule { return Steps(stages) }, rate*half.Seconds() + to*(length-half).Seconds(), 2
	}
	return func() Schedule { return Ramp(rate, to, length) }, (rate + to) / 2 * seconds, 2
}

func all(s Schedule) []int64 {
	var out []int64
	for at, ok := s(); ok; at, ok = s() {
		out = append(out, at)
	}
	return out
}

// Every schedule is in order, stays within its length, has as many requests as the integral of
// its rate (Poisson: within six standard deviations), and is the same each time it is opened.
func TestSchedules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := time.Duration(rapid.Int64Range(1e8, 2e9).Draw(t, "length"))
		fresh, mean, slack := drawSchedule(t, length)
		at := all(fresh())
		if !slices.IsSorted(at) {
			t.Fatal("not ordered")
		}
		if n := len(at); n > 0 && (at[0] < 0 || at[n-1] >= int64(length)) {
			t.Fatalf("requests at %d..%d lie outside of %d", at[0], at[n-1], length)
		}
		if math.Abs(float64(len(at))-mean) > slack {
			t.Fatalf("%d requests, want %.1f", len(at), mean)
		}
		if !slices.Equal(at, all(fresh())) {
			t.Fatal("a second reading differs")
		}
	})
}

func TestPoissonGaps(t *testing.T) {
	at := all(Poisson(1000, 100*time.Second, 1))
	var sum, squares float64
	for i := 1; i < len(at); i++ {
		gap := float64(at[i]-at[i-1]) / 1e6
		sum, squares = sum+gap, squares+gap*gap
	}
	n := float64(len(at) - 1)
	mean := sum / n
	if deviation := math.Sqrt(squares/n - mean*mean); math.Abs(deviation/mean-1) > 0.03 {
		t.Fatalf("gaps have mean %.3f ms and deviation %.3f ms; they are equal for exponential gaps", mean, deviation)
	}
	if slices.Equal(at, all(Poisson(1000, 100*time.Second, 2))) {
		t.Fatal("two seeds give the same schedule")
	}
}

// The strides of all threads together are the schedule, each request once.
func TestStridePartitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fresh, _, _ := drawSchedule(t, 200*time.Millisecond)
		n := rapid.IntRange(1, 9).Draw(t, "threads")
		var parts []int64
		for k := range n {
			part := all(Stride(fresh(), k, n))
			if !slices.IsSorted(part) {
				t.Fatal("not ordered")
			}
			parts = append(parts, part...)
		}
		slices.Sort(parts)
		if whole := all(fresh()); !slices.Equal(parts, whole) {
			t.Fatalf("%d requests in %d parts, %d in the whole", len(parts), n, len(whole))
		}
	})
}

// At every instant, a ramp has made as many requests as the integral of its rate.
func TestRampIntegral(t *testing.T) {
	const seconds = 10.0
	for _, r := range [][2]float64{{10, 1000}, {1000, 10}, {0, 500}, {500, 0}, {200, 200}} {
		at := all(Ramp(r[0], r[1], seconds*time.Second))
		for _, u := range []float64{0.5, 2.5, 5, 9, 10} {
			want := r[0]*u + (r[1]-r[0])/seconds*u*u/2
			got, _ := slices.BinarySearch(at, int64(u*1e9))
			if math.Abs(float64(got)-want) > 1.5 {
				t.Errorf("ramp %v: %d requests within %.1f s, want %.1f", r, got, u, want)
			}
		}
	}
}

func TestStepsWithPause(t *testing.T) {
	got := all(Steps([]workload.Stage{{Rate: 10, Length: 200 * time.Millisecond}, {Rate: 0, Length: time.Second}, {Rate: 5, Length: 400 * time.Millisecond}}))
	if want := []int64{0, 1e8, 12e8, 14e8}; !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestNoRateNoArrivals(t *testing.T) {
	for name, s := range map[string]Schedule{
		"constant": Constant(0, time.Second), "poisson": Poisson(0, time.Second, 1), "ramp": Ramp(0, 0, time.Second),
	} {
		if at, ok := s(); ok {
			t.Errorf("%s at rate 0 sends at %d", name, at)
		}
	}
}

func TestReadTimes(t *testing.T) {
	got, err := ReadTimes(strings.NewReader("# trace\n\n0\n 0.0125 \n0.0125\n1e1\n"))
	if want := []int64{0, 12_500_000, 12_500_000, 10e9}; err != nil || !slices.Equal(got, want) {
		t.Fatalf("got %v, %v; want %v", got, err, want)
	}
	if again := all(Times(got)); !slices.Equal(again, got) {
		t.Fatalf("Times gives %v", again)
	}
	for text, want := range map[string]string{
		"0\nsoon\n":                        `line 2: "soon" is not a time`,
		"-1\n":                             `line 1: "-1" is not a time`,
		"NaN\n":                            `is not a time`,
		"1e300\n":                          `is not a time`,
		"2\n1\n":                           "line 2: 1 s is before",
		"0\n" + strings.Repeat("1", 70000): "line 2",
	} {
		if _, err := ReadTimes(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: error %v, want one with %q", text, err, want)
		}
	}
}

// Every schedule that was read is in order, and is the same when it is written and read again.
func FuzzReadTimes(f *testing.F) {
	f.Add("0\n0.5\n# c\n2\n")
	f.Add("1e3\n\n-0\n")
	f.Fuzz(func(t *testing.T, text string) {
		at, err := ReadTimes(strings.NewReader(text))
		if err != nil {
			return
		}
		if !slices.IsSorted(at) {
			t.Fatal("not ordered")
		}
		var again strings.Builder
		for _, ns := range at {
			fmt.Fprintf(&again, "%d.%09d\n", ns/1e9, ns%1e9)
		}
		back, err := ReadTimes(strings.NewReader(again.String()))
		if err != nil || len(back) != len(at) {
			t.Fatalf("written again: %d of %d times, %v", len(back), len(at), err)
		}
		for i := range at {
			if d := back[i] - at[i]; d < -1 || d > 1 { // the last bit of a float64
				t.Fatalf("time %d: %d became %d", i, at[i], back[i])
			}
		}
	})
}

// Processes that share sessions make each message once, and each the messages of its own sessions,
// which take turns as in one process.
func TestTurns(t *testing.T) {
	const total, messages = 5, 23
	for n := 1; n <= 3; n++ {
		made := map[int64]int{} // message -> by which process
		for k := range n {
			next := Turns(Constant(messages, time.Second), k, n, total)
			for at, ok := next(); ok; at, ok = next() {
				if _, twice := made[at]; twice {
					t.Errorf("two processes of %d make the message at %v", n, time.Duration(at))
				}
				made[at] = k
			}
		}
		all, m := Constant(messages, time.Second), 0
		for at, ok := all(); ok; at, ok = all() {
			if by, ok := made[at]; !ok || by != m%total%n {
				t.Errorf("message %d comes from process %d (%v) of %d, want %d", m, by, ok, n, m%total%n)
			}
			m++
		}
		if m != len(made) {
			t.Errorf("%d processes make %d of %d messages", n, len(made), m)
		}
	}
}
