package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"dyno/cmd/dyno/request"
	"dyno/cmd/dyno/usage"
	"dyno/lab/experiment"
	"dyno/lab/record"
	"dyno/lab/report"

	"github.com/spf13/cobra"
)

func newDiagnose() *cobra.Command {
	var (
		c       common
		q       request.Flags
		variant string
		pid     int
		token   string
		also    string
		otlp    string
	)
	cmd := &cobra.Command{
		Use:   "diagnose URL|SCENARIO",
		Short: "Find the capacity, and the cause that bounds it there, with the place in the code",
		Long: `Diagnose finds the capacity (when there is an SLO), saturates the service with a closed loop until its
throughput stops rising, takes profiles there in windows of their own, and names the bound: cpu, gc,
lock, syscall, wait, generator, environment or not-loaded, with evidence, or an honest unknown. Where it
may, it then changes one setting (GOGC, GOMAXPROCS) whose effect the verdict predicts. It takes two minutes
at most.

A service with net/http/pprof on a private address needs no change: name that address with --debug. One
that imports dyno/agent shows more; one that offers neither, less. The answer says what could not
be seen.

-c bounds the requests in flight: with it, the answer may be that more load would be
carried. It prints the answer in three lines and some evidence; --explain prints all of it, as the
report has it. Neighbours do not prevent an answer: a verdict that they may have influenced says that
it is unconfirmed. A second SIGINT ends it immediately. It exits 4 when there is no verdict about the
service: nothing could be measured, or the generator was the limit.`,
		Example: `  dyno diagnose http://127.0.0.1:8080/ --debug http://127.0.0.1:6060
  dyno diagnose http://127.0.0.1:8080/quote --slo p99=20ms,errors=0.1% --debug http://127.0.0.1:6060 --json
  dyno diagnose http://127.0.0.1:8080/ --debug http://127.0.0.1:6060 --also http://127.0.0.1:6061
  dyno diagnose scenarios/notify.yaml --variant plain`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			args, err := request.Targets(args)
			if err != nil {
				return err
			}
			if pid < 0 {
				return usage.Errorf("--pid takes a process ID, not %d", pid)
			}
			if pid > 0 && !alive(pid) {
				return usage.Errorf("--pid: there is no process %d; leave it out to use the process that listens at the URL", pid)
			}
			if pid == os.Getpid() {
				return usage.Errorf("--pid: %d is dyno itself; leave it out to use the process that listens at the URL", pid)
			}
			o := experiment.Options{PID: pid, Token: token, OTLP: otlp, Downstream: also}
			if cmd.Flags().Changed("connections") {
				o.Clients = q.Connections
			}
			if o.Scenario, o.Only, err = q.Target(record.KindDiagnose, args[0], variant); err != nil {
				return err
			}
			if pid > 0 && o.Scenario.Target.URL == "" {
				return usage.Errorf("--pid is for a service that already runs, and %s starts its own (target.build or target.command); leave it out", args[0])
			}
			if !o.Scenario.Load.Traits().Searchable() {
				return usage.Errorf("%s is a job with a rate of its own; diagnose takes services that answer requests, and jobs by concurrent units (load.axis: concurrency)", args[0])
			}
			if o.Scenario.Load.ReceiveOnly() {
				return usage.Errorf("the sessions of %s only receive, so that no load of theirs can saturate the service: give them load.per_session and load.send", args[0])
			}
			return c.execute(cmd.Context(), o, judgeDiagnosis)
		},
	}
	c.register(cmd)
	c.registerDepth(cmd)
	q.Register(cmd.Flags())
	f := cmd.Flags()
	f.StringVar(&variant, "variant", "", "the scenario's variant to diagnose (default: its last)")
	f.BoolVar(&c.explain, "explain", false, "print all of the evidence and the findings, and not only the answer")
	f.IntVar(&pid, "pid", 0, "the target's process, if it is not the one that listens at the URL")
	f.StringVar(&otlp, "otlp", "", "loopback address at which to receive the target's traces (OTLP/HTTP), as in 127.0.0.1:4318, to break latency down by stage")
	f.StringVar(&also, "also", "", "debug address of a process that the target calls, to diagnose that process, too")
	f.StringVar(&token, "token", "", "bearer token of the debug address (none is sent to --also)")
	return cmd
}

// alive reports whether a process exists, even if it belongs to another user.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, os.ErrPermission)
}

// judgeDiagnosis returns the error, with its exit code, for a diagnosis without a verdict.
func judgeDiagnosis(rep *report.Report) error {
	if len(rep.Diagnoses) == 0 {
		return errors.New("nothing was diagnosed")
	}
	if d := rep.Diagnoses[0]; !d.Valid {
		return &exit{exitInvalid, fmt.Errorf("%w: %s", experiment.ErrUnfit, d.Reason)}
	}
	return nil
}
