package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/pflag"

	"dyno/agent"
	"dyno/parts/assembly"
	"dyno/parts/config"
	"dyno/parts/guard"
	"dyno/parts/tracing"
)

const (
	defaultListen = "127.0.0.1:8080"
	defaultDebug  = "127.0.0.1:0"

	// Kubernetes kills after 30 s; this leaves time to report what was not finished.
	defaultDrain = 20 * time.Second

	// Proxies and service meshes take a second or two to see that a process is no longer ready; those
	// of Kubernetes may take longer: then raise it. The sum with defaultDrain stays below those 30 s.
	defaultLameDuck = 2 * time.Second

	// 1 in 100 costs next to nothing and at 1,000 requests/s still shows 10 a second.
	defaultRate = "0.01"
)

// options is what flags, environment and file decide together.
type options struct {
	listen, debug, debugToken string
	data                      string
	assembly                  string
	set                       config.Pairs
	config                    string
	tlsCert, tlsKey           string
	logLevel                  slog.Level
	drainTimeout, readTimeout time.Duration
	origins, hosts            []string
	socketOrigins             []string
	lameDuck                  time.Duration
	otlp                      string
	otlpSample                config.Pairs
	flight                    time.Duration

	rates       tracing.Rates
	choice      assembly.Choice
	guard       *guard.Guard // which pages may call the public address, and by which names
	sockets     *guard.Guard // which may open WebSockets there; nil: the service has no Doors
	certificate *certificate // nil: no TLS
}

// declare declares the flags of serve.
func (o *options) declare(f *pflag.FlagSet, s Service) {
	listen := s.Listen
	if listen == "" {
		listen = defaultListen
	}
	f.StringVar(&o.listen, "listen", listen, "public address `HOST:PORT`; port 0 picks a free one")
	f.StringVar(&o.tlsCert, "tls-cert", "", "PEM `FILE` with the certificate for the public address; read again when it changes")
	f.StringVar(&o.tlsKey, "tls-key", "", "PEM `FILE` with its key")
	f.DurationVar(&o.readTimeout, "read-timeout", defaultRead, "`TIME` within which a request to the public address is to arrive whole; slower clients are cut off, also those that take longer for an answer that is no stream")
	o.declareOrigins(f, s)
	f.DurationVar(&o.lameDuck, "lame-duck", defaultLameDuck, "`TIME` after SIGTERM in which requests are still accepted and answered, with Connection: close, while /readyz says 503: what load balancers need to see it. Ctrl-C does without; 0: none")
	f.DurationVar(&o.flight, "flight-recorder", 0, "`TIME` of execution trace to hold in memory, up to 10 MiB. When the service tips over (40% fewer requests, p99 three times as long, longer pauses for garbage collection), it is kept at "+agent.PathKept+" of the debug address, once. It costs 1 to 2% of the CPU; 0: off")
	o.declareShared(f, s, slog.LevelInfo, "`TIME` to finish what was acknowledged after SIGTERM and --lame-duck")
}

// doors returns the names of the flags that say what may call.
func (s Service) doors() Doors {
	if s.Doors != nil {
		return *s.Doors
	}
	return Doors{Hosts: "allow-host", Origins: "allow-origin"}
}

func (o *options) declareOrigins(f *pflag.FlagSet, s Service) {
	const pages = "web pages of this `ORIGIN`, such as https://shop.example.com, "
	if s.Doors == nil {
		f.StringArrayVar(&o.origins, s.doors().Origins, nil, pages+"may call the public address; repeatable, or a list with commas. Without it only pages from that address itself may")
		return
	}
	f.StringArrayVar(&o.origins, s.Doors.Origins, nil, pages+"may send requests to the public address; repeatable, or a list with commas. Without it pages from loopback addresses may. *: any page")
	f.StringArrayVar(&o.socketOrigins, s.Doors.Sockets, nil, pages+"may open WebSockets at the public address; repeatable, or a list with commas. Without it pages from loopback addresses may")
}

// declareJob declares the flags of a job: those of serve without what is about the public address.
func (o *options) declareJob(f *pflag.FlagSet, s Service) {
	o.readTimeout = defaultRead // of headers at the debug address
	o.declareShared(f, s, slog.LevelWarn, "`TIME` to stop in good order after SIGTERM")
}

func (o *options) declareShared(f *pflag.FlagSet, s Service, level slog.Level, drain string) {
	f.StringVar(&o.debug, "debug", defaultDebug, "private address `HOST:PORT`: health, metrics, profiles, agent")
	f.StringVar(&o.debugToken, "debug-token", "", "`TOKEN` with which peers beyond loopback see more than health and metrics; better given as "+config.EnvName(s.Name, "debug-token"))
	f.StringArrayVar(&o.hosts, s.doors().Hosts, nil, "clients may call this process by the `NAME`, in addition to IP addresses, names without a dot and the machine's name; repeatable, or a list with commas. *: any name, where a proxy checks it")
	if s.Data != nil {
		f.StringVar(&o.data, "data", s.Name+"-data", "folder `DIR` where state lives")
	}
	f.StringVar(&o.assembly, "assembly", assembly.Tuned, "assembly `NAME`: "+assembly.Baseline+", "+assembly.Tuned+" or a step of the ladder (see the command assemblies)")
	f.Var(&o.set, "set", "puts another implementation into a seam or changes a setting: `NAME=VALUE`; repeatable")
	f.StringVar(&o.config, "config", "", "YAML `FILE` with any of these flags as keys")
	f.TextVar(&o.logLevel, "log-level", level, "lowest `LEVEL` that is logged: debug, info, warn or error")
	f.DurationVar(&o.drainTimeout, "drain-timeout", defaultDrain, drain)
	f.StringVar(&o.otlp, "otlp", "", "export traces to the collector at `URL`, such as http://127.0.0.1:4318 (OTLP over HTTP); without it there are none. Headers for it, such as a token, go into OTEL_EXPORTER_OTLP_HEADERS")
	o.otlpSample.Alone = tracing.Others
	f.Var(&o.otlpSample, "otlp-sample", "share of traces to record: `[ROUTE=]RATE`, such as 0.1 or 'GET /v1/things=1'; repeatable. A traceparent that comes with a request decides for itself, and so does its header field X-Trace-Sampling, a rate (default "+defaultRate+")")
}

// complete fills in from the environment and the file what the command line left out, and checks
// the result. Each error is the user's to fix. Elsewhere are the flags of the service's other
// commands.
func (o *options) complete(f *pflag.FlagSet, s Service, env func(string) (string, bool), elsewhere []string) error {
	if err := config.FromEnvironment(f, s.Name, env); err != nil {
		return err
	}
	if o.config != "" {
		if err := config.FromFile(f, o.config, elsewhere); err != nil {
			return err
		}
	}
	if o.readTimeout <= 0 {
		return fmt.Errorf("--read-timeout is %v; it must be more than 0", o.readTimeout)
	}
	if o.lameDuck < 0 {
		return fmt.Errorf("--lame-duck is %v; it must not be less than 0", o.lameDuck)
	}
	if o.flight < 0 || o.flight > maxFlight {
		return fmt.Errorf("--flight-recorder is %v; it must be 0 (off) to %v", o.flight, maxFlight)
	}
	if o.drainTimeout <= 0 {
		return fmt.Errorf("--drain-timeout is %v; it must be more than 0", o.drainTimeout)
	}
	if s.Data != nil && o.data == "" {
		return errors.New("--data is empty; name a folder")
	}
	var err error
	rates := o.otlpSample.Values()
	if _, ok := rates[tracing.Others]; !ok {
		rates[tracing.Others] = defaultRate
	}
	if o.rates, err = tracing.ParseRates(rates); err != nil {
		return fmt.Errorf("--otlp-sample: %w", err)
	}
	if o.choice, err = s.Assembly.Resolve(o.assembly, o.set.Values()); err != nil {
		return err
	}
	if err := o.openGuards(s); err != nil {
		return err
	}
	return o.loadCertificate()
}

func (o *options) openGuards(s Service) (err error) {
	doors := s.doors()
	g := guard.Options{Origins: o.origins, Hosts: o.hosts, Listen: []string{o.listen, o.debug}, Extensions: s.Extensions, OriginFlag: "--" + doors.Origins, HostFlag: "--" + doors.Hosts}
	if s.Doors == nil {
		o.guard, err = guard.New(g)
		return err
	}
	g.AnyOrigin, g.Loopback = true, len(o.origins) == 0
	if o.guard, err = guard.New(g); err != nil {
		return err
	}
	g.Origins, g.AnyOrigin, g.Loopback, g.OriginFlag = o.socketOrigins, false, len(o.socketOrigins) == 0, "--"+doors.Sockets
	o.sockets, err = guard.New(g)
	return err
}

func (o *options) loadCertificate() error {
	if o.tlsCert == "" && o.tlsKey == "" {
		return nil
	}
	if o.tlsCert == "" || o.tlsKey == "" {
		return errors.New("--tls-cert and --tls-key go together; give both")
	}
	var err error
	o.certificate, err = newCertificate(o.tlsCert, o.tlsKey)
	return err
}
