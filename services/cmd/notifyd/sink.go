package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"time"

	"dyno/parts/command"
	"dyno/parts/daemon"
	"dyno/parts/doors"
	"dyno/parts/guard"
	"dyno/parts/redact"
	"dyno/parts/tracing"
	"dyno/services/notify/sink"

	"github.com/spf13/cobra"
)

// sinkCommand receives webhooks.
func sinkCommand() *cobra.Command {
	var listen, debug, otlp string
	var hosts []string
	var config sink.Config
	cmd := &cobra.Command{
		Use:   "sink",
		Short: "Receive webhooks, check their order, and stream when each notice came",
		Long: `Sink takes webhooks on any path of --listen, answers after --delay, and counts. A webhook to /hang... is never
answered, and one to /fail... is immediately answered with 500. On --debug:
  GET /stats               what it has seen, as JSON
  GET /receipts?run=RUN    a stream of lines "ID NS": when the notices whose id is RUN-HEX16 came, CLOCK_MONOTONIC`,
		Example: `  notifyd sink --listen 127.0.0.1:9000 --debug 127.0.0.1:9001 --delay 5ms
  notifyd sink --listen 127.0.0.1:9000 --otlp http://127.0.0.1:4318`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			g, err := guard.New(guard.Options{Hosts: hosts, Listen: []string{listen, debug}})
			if err != nil {
				return daemon.Usage(err)
			}
			tracer, err := startTracer(otlp, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			defer stopTracer(tracer, cmd.ErrOrStderr())
			return runSink(cmd.Context(), config, g.Private(), tracer, listen, debug, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&listen, "listen", "127.0.0.1:0", "address for webhooks")
	flags.StringVar(&debug, "debug", "127.0.0.1:0", "address for /stats and /receipts")
	flags.StringArrayVar(&hosts, "allow-host", nil, "webhooks may come to the `NAME`, in addition to IP addresses, names without a dot and the machine's name; repeatable, or a list with commas")
	flags.StringVar(&config.Secret, "secret", "", "verify signatures made with this whsec_... secret")
	flags.DurationVar(&config.Delay, "delay", 0, "wait this long before answering, but for /hang... and /fail...")
	flags.StringVar(&otlp, "otlp", "", "export a span (receive) for each webhook with a sampled traceparent to the collector at `URL`, such as http://127.0.0.1:4318. Headers for it go into OTEL_EXPORTER_OTLP_HEADERS")
	return cmd
}

// runSink serves a sink until ctx ends. It prints one JSON line with the bound addresses when it is
// ready. A nil tracer makes no spans.
func runSink(ctx context.Context, c sink.Config, g *guard.Guard, tracer *tracing.Tracer, listen, debug string, ready io.Writer) error {
	s, err := sink.New(c)
	if err != nil {
		return daemon.Usage(fmt.Errorf("--secret: %w", err))
	}
	hooks, err := daemon.Listen(listen, doors.Public("listen"))
	if err != nil {
		return err
	}
	defer hooks.Close()
	private, err := daemon.Listen(debug, doors.Private("debug", nil))
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	s.Register(mux)
	servers := []*http.Server{
		{Handler: g.Wrap(traced(s, tracer), nil), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute},
		{Handler: g.Wrap(mux, nil), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute},
	}
	ended := make(chan error, len(servers))
	go func() { ended <- servers[0].Serve(hooks) }()
	go func() { ended <- servers[1].Serve(private) }()
	err = json.NewEncoder(ready).Encode(map[string]any{
		"ready": true, "service": "notifyd sink", "listen": hooks.Addr().String(), "debug": private.Addr().String(), "pid": os.Getpid(),
	})
	waiting := len(servers)
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-ended:
			waiting--
		}
	}
	s.Close()
	grace, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	for _, server := range servers {
		if server.Shutdown(grace) != nil {
			server.Close()
		}
	}
	for range waiting {
		<-ended
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// spanReceive is a webhook's span, from its arrival to the answer.
const spanReceive = "receive"

// startTracer returns nil without a URL. No trace begins at a sink: it joins those of its callers.
func startTracer(url string, stderr io.Writer) (*tracing.Tracer, error) {
	if url == "" {
		return nil, nil
	}
	tracer, err := tracing.Start(tracing.Config{URL: url, Service: "notifyd sink", Log: newLog(stderr)})
	if err != nil {
		return nil, daemon.Usage(fmt.Errorf("--otlp: %w", err))
	}
	return tracer, nil
}

// stopTracer exports the last spans and says when some were lost.
func stopTracer(tracer *tracing.Tracer, stderr io.Writer) {
	if tracer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), tracing.FlushTimeout)
	defer cancel()
	if err := tracer.Close(ctx); err != nil {
		newLog(stderr).Warn("traces are incomplete", "error", err.Error())
	}
}

func newLog(stderr io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(stderr, &slog.HandlerOptions{ReplaceAttr: redact.Attr}))
}

func traced(s *sink.Sink, tracer *tracing.Tracer) http.Handler {
	if tracer == nil {
		return s
	}
	return tracer.Wrap(spanReceive, s)
}
