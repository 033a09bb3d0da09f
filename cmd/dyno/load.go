package main

import (
	"errors"
	"time"

	"dyno/cmd/dyno/request"
	"dyno/cmd/dyno/usage"
	"dyno/lab/experiment"
	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/scenario"
	"dyno/lab/workload"

	"github.com/spf13/cobra"
)

func newLoad() *cobra.Command {
	var (
		c        common
		q        request.Flags
		rate     float64
		duration time.Duration
		warmup   time.Duration
		closed   bool
		schedule string
	)
	cmd := &cobra.Command{
		Use:   "load URL",
		Short: "Send one load to a service that already runs, and report its latency and errors",
		Long: `Load sends requests to a URL. With -r the model is open: requests are due at times fixed beforehand, and
latency counts from those, so a stall of the target is seen by every request that fell into it. Without -r
(or with --closed) the model is closed, as wrk's is: each connection waits for its answer before it sends
again, which hides stalls, and the result says so.

It exits 3 when no request succeeded, or when --slo was given and missed, and 4 when the load generator was the limit
and the SLO was not met all the same.`,
		Example: `  dyno load http://127.0.0.1:8080/ -r 2000 -d 10s
  dyno load http://127.0.0.1:8080/v1/notices -r 500 -b @notice.json -H 'Content-Type: application/json'
  dyno load http://127.0.0.1:8080/ -c 64 -d 5s --json | jq .latency_ms`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			address, err := request.URL(args[0])
			if err != nil {
				return err
			}
			sc, err := q.Scenario(record.KindLoad, address)
			if err != nil {
				return err
			}
			switch {
			case cmd.Flags().Changed("rate") && !(rate > 0 && rate <= request.MostPerSecond):
				return usage.Errorf("-r takes a rate above 0 and up to %.0f per second, not %g", request.MostPerSecond, rate)
			case q.MaxRate > 0 && rate > q.MaxRate:
				return usage.Errorf("-r %g is above --max-rate %g", rate, q.MaxRate)
			case duration <= 0:
				return usage.Errorf("-d takes a duration above 0, not %s", duration)
			case warmup < 0:
				return usage.Errorf("--warmup takes a duration of 0 or more, not %s", warmup)
			case schedule != workload.Poisson && schedule != workload.Constant:
				return usage.Errorf("unknown schedule %q; write poisson or constant (a scenario file has more)", schedule)
			}
			sc.Load.Schedule = workload.Schedule{Kind: schedule, Rate: rate}
			if rate == 0 || closed {
				sc.Load.Schedule = workload.Schedule{Kind: workload.Closed}
			}
			sc.Measure = scenario.Measure{Length: duration, Warmup: warmup}
			return c.execute(cmd.Context(), experiment.Options{Scenario: sc}, judgeLoad)
		},
	}
	c.register(cmd)
	q.Register(cmd.Flags())
	f := cmd.Flags()
	usage.Rate(f, &rate, "rate", "r", "requests per second (open model)")
	usage.Duration(f, &duration, "duration", "d", 10*time.Second, "measured time")
	usage.Duration(f, &warmup, "warmup", "", 500*time.Millisecond, "duration of the load before the measurement, which is not counted")
	f.BoolVar(&closed, "closed", false, "ignore -r: each connection sends again when it has its answer")
	f.StringVar(&schedule, "schedule", workload.Poisson, "distribution of the gaps between requests: poisson or constant")
	return cmd
}

// judgeLoad returns the error, with its exit code, for a load that missed its SLO.
func judgeLoad(rep *report.Report) error {
	if v := rep.Load.Verdict; v != nil && !v.Met && v.Inconclusive == "" {
		return &exit{exitMissed, errors.New(rep.Load.MissedText())}
	}
	return nil
}
