// Command amplification prints the write amplification of chaind's states from the record of a sweep
// (scenarios/chain-states.yaml): how many bytes were written to disk for each byte of an account's or
// slot's record. A source states it as 9.4 and 3.8 for LevelDB and 8.7 and 2.1 for Badger, with keys
// that are scattered and keys that lie together.
//
//	go run ./bench/claims/amplification dyno-out/chain-states-20260102-150405
//	go run ./bench/claims/amplification --json DIR    steps, as docs/results has them
//
// It is not for measuring. It starts no goroutines.
package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"dyno/bench/claims"
	"dyno/lab/record"
)

// Gauges of chaind, in bytes since the process began. What counts is how much they grow during the
// load, so the accounts of the genesis do not.
const (
	gaugeRecords = "blockchain_state_record_bytes"   // records of accounts and slots
	gaugeStates  = "blockchain_state_written_bytes"  // written by the states' engine
	gaugeBlocks  = "blockchain_blocks_written_bytes" // written by the blocks' engine, which keeps the history, too
)

func main() {
	asJSON := flag.Bool("json", false, "print JSON")
	claims.Main("amplification", "dyno-out/chain-states-20260102-150405", func(w io.Writer, e *record.Experiment) error {
		return run(w, e, *asJSON)
	})
}

func run(w io.Writer, e *record.Experiment, asJSON bool) error {
	steps, err := stepsOf(e)
	if err != nil {
		return err
	}
	if !asJSON {
		return print(w, steps)
	}
	return claims.Write(w, "amplification", e, steps)
}

// step is what a variant wrote, over all of its runs: the means, and the least and the most of a run.
type step struct {
	Name    string     `json:"name"`
	Change  string     `json:"change"`
	Runs    int        `json:"runs"`
	Records float64    `json:"record_bytes_per_request"` // bytes of records
	States  float64    `json:"state_amplification"`      // bytes written by the states' engine for a byte of record
	OfState [2]float64 `json:"state_amplification_runs"`
	All     float64    `json:"amplification"` // by both engines
	OfAll   [2]float64 `json:"amplification_runs"`
}

// stepsOf returns what the variants wrote, in the order of their first runs.
func stepsOf(e *record.Experiment) (steps []step, err error) {
	for _, r := range e.Runs {
		if r.Invalid != "" || r.Spec.Diagnostic() {
			continue
		}
		w := writtenDuring(r)
		if w.records <= 0 || w.requests <= 0 {
			continue
		}
		i := slices.IndexFunc(steps, func(s step) bool { return s.Name == r.Spec.Variant })
		if i < 0 {
			i = len(steps)
			v, _ := e.Variant(r.Spec.Variant)
			steps = append(steps, step{Name: r.Spec.Variant, Change: v.Change})
		}
		s := &steps[i]
		s.Runs++
		add(&s.States, &s.OfState, w.states/w.records, s.Runs)
		add(&s.All, &s.OfAll, (w.states+w.blocks)/w.records, s.Runs)
		s.Records += (w.records/w.requests - s.Records) / float64(s.Runs)
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("in no valid run %s grows; states are written every 128 blocks, which a run of --quick may not have", gaugeRecords)
	}
	return steps, nil
}

// written is what the gauges grew by during a run, in bytes, and the requests answered meanwhile.
type written struct{ records, states, blocks, requests float64 }

// writtenDuring compares the last window of a run in which the gauges were read with the first.
func writtenDuring(r *record.Run) (w written) {
	var first map[string]float64
	for _, at := range r.Series {
		if first != nil {
			w.requests += float64(at.Client.Ended - at.Client.Failed)
		}
		if at.Server == nil || at.Server.Gauges[gaugeStates] == 0 {
			continue
		}
		g := at.Server.Gauges
		if first == nil {
			first = g
		}
		w.records, w.states, w.blocks = g[gaugeRecords]-first[gaugeRecords], g[gaugeStates]-first[gaugeStates], g[gaugeBlocks]-first[gaugeBlocks]
	}
	return w
}

// add takes the n-th value into a mean and into the range of the values.
func add(mean *float64, all *[2]float64, v float64, n int) {
	if n == 1 {
		*all = [2]float64{v, v}
	}
	*mean += (v - *mean) / float64(n)
	*all = [2]float64{min(all[0], v), max(all[1], v)}
}

func print(w io.Writer, steps []step) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "variant\truns\trecords, bytes a request\twritten for each byte: states\tand blocks\t")
	for _, s := range steps {
		fmt.Fprintf(out, "%s\t%d\t%.0f\t%.2f [%.2f, %.2f]\t%.1f [%.1f, %.1f]\t\n", s.Name, s.Runs, s.Records, s.States, s.OfState[0], s.OfState[1], s.All, s.OfAll[0], s.OfAll[1])
	}
	return out.Flush()
}
