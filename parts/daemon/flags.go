package daemon

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"time"

	"github.com/spf13/pflag"

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

	levelFlag = "log-level"
)

// options is what flags, environment and file decide together.
type options struct {
	listen, debug, debugToken string
	data                      string
	assembly                  string
	set                       pairsValue
	config                    string
	tlsCert, tlsKey           string
	logLevel                  slog.Level
	drainTimeout, readTimeout time.Duration
	origins, hosts            []string
	lameDuck                  time.Duration
	otlp                      string
	otlpSample                pairsValue

	rates       tracing.Rates
	choice      Choice
	guard       *guard.Guard     // which pages may call the public address, and by which names
	certificate *tls.Certificate // nil: no TLS
}

// declare declares the flags of serve.
func (o *options) declare(f *pflag.FlagSet, s Service) {
	listen := s.Listen
	if listen == "" {
		listen = defaultListen
	}
	f.StringVar(&o.listen, "listen", listen, "public address `HOST:PORT`; port 0 picks a free one")
	f.StringVar(&o.tlsCert, "tls-cert", "", "PEM `FILE` with the certificate for the public address")
	f.StringVar(&o.tlsKey, "tls-key", "", "PEM `FILE` with its key")
	f.DurationVar(&o.readTimeout, "read-timeout", defaultRead, "`TIME` within which a request to the public address is to arrive whole; slower clients are cut off, also those that take longer for an answer that is no stream")
	f.StringArrayVar(&o.origins, "allow-origin", nil, "web pages of this `ORIGIN`, such as https://shop.example.com, may call the public address; repeatable, or a list with commas. Without it only pages from that address itself may")
	f.DurationVar(&o.lameDuck, "lame-duck", defaultLameDuck, "`TIME` after SIGTERM in which requests are still accepted and answered, with Connection: close, while /readyz says 503: what load balancers need to see it. Ctrl-C does without; 0: none")
	o.declareShared(f, s, slog.LevelInfo, "`TIME` to finish what was acknowledged after SIGTERM and --lame-duck")
}

// declareJob declares the flags of a job: those of serve without what is about the public address.
func (o *options) declareJob(f *pflag.FlagSet, s Service) {
	o.readTimeout = defaultRead // of headers at the debug address
	o.declareShared(f, s, slog.LevelWarn, "`TIME` to stop in good order after SIGTERM")
}

func (o *options) declareShared(f *pflag.FlagSet, s Service, level slog.Level, drain string) {
	f.StringVar(&o.debug, "debug", defaultDebug, "private address `HOST:PORT`: health, metrics, profiles, agent")
	f.StringVar(&o.debugToken, "debug-token", "", "`TOKEN` with which peers beyond loopback see more than health and metrics; better given as "+envName(s.Name, "debug-token"))
	f.StringArrayVar(&o.hosts, "allow-host", nil, "clients may call this process by the `NAME`, in addition to IP addresses, names without a dot and the machine's name; repeatable, or a list with commas. *: any name, where a proxy checks it")
	if s.Data != nil {
		f.StringVar(&o.data, "data", s.Name+"-data", "folder `DIR` where state lives")
	}
	f.StringVar(&o.assembly, "assembly", Tuned, "assembly `NAME`: "+Baseline+", "+Tuned+" or a step of the ladder (see the command assemblies)")
	f.Var(&o.set, "set", "puts another implementation into a seam or changes a setting: `NAME=VALUE`; repeatable")
	f.StringVar(&o.config, "config", "", "YAML `FILE` with any of these flags as keys")
	f.TextVar(&o.logLevel, levelFlag, level, "lowest `LEVEL` that is logged: debug, info, warn or error")
	f.DurationVar(&o.drainTimeout, "drain-timeout", defaultDrain, drain)
	f.StringVar(&o.otlp, "otlp", "", "export traces to the collector at `URL`, such as http://127.0.0.1:4318 (OTLP over HTTP); without it there are none. Headers for it, such as a token, go into OTEL_EXPORTER_OTLP_HEADERS")
	o.otlpSample.alone = tracing.Others
	f.Var(&o.otlpSample, "otlp-sample", "share of traces to record: `[ROUTE=]RATE`, such as 0.1 or 'GET /v1/things=1'; repeatable. A traceparent that comes with a request decides for itself (default "+defaultRate+")")
}

// complete fills in from the environment and the file what the command line left out, and checks
// the result. Elsewhere are the flags of the service's other commands.
func (o *options) complete(f *pflag.FlagSet, s Service, env func(string) (string, bool), elsewhere []string) error {
	if err := fromEnvironment(f, s.Name, env); err != nil {
		return err
	}
	if o.config != "" {
		if err := fromFile(f, o.config, elsewhere); err != nil {
			return err
		}
	}
	if o.readTimeout <= 0 {
		return usageError{fmt.Errorf("--read-timeout is %v; it must be more than 0", o.readTimeout)}
	}
	if o.lameDuck < 0 {
		return usageError{fmt.Errorf("--lame-duck is %v; it must not be less than 0", o.lameDuck)}
	}
	if o.drainTimeout <= 0 {
		return usageError{fmt.Errorf("--drain-timeout is %v; it must be more than 0", o.drainTimeout)}
	}
	if s.Data != nil && o.data == "" {
		return usageError{errors.New("--data is empty; name a folder")}
	}
	var err error
	rates := o.otlpSample.values()
	if _, ok := rates[tracing.Others]; !ok {
		rates[tracing.Others] = defaultRate
	}
	if o.rates, err = tracing.ParseRates(rates); err != nil {
		return usageError{fmt.Errorf("--otlp-sample: %w", err)}
	}
	if o.choice, err = s.Assembly.Resolve(o.assembly, o.set.values()); err != nil {
		return usageError{err}
	}
	if o.guard, err = guard.New(guard.Options{Origins: o.origins, Hosts: o.hosts, Listen: []string{o.listen, o.debug}}); err != nil {
		return usageError{err}
	}
	return o.loadCertificate()
}

func (o *options) loadCertificate() error {
	if o.tlsCert == "" && o.tlsKey == "" {
		return nil
	}
	if o.tlsCert == "" || o.tlsKey == "" {
		return usageError{errors.New("--tls-cert and --tls-key go together; give both")}
	}
	cert, err := tls.LoadX509KeyPair(o.tlsCert, o.tlsKey)
	if err != nil {
		return usageError{fmt.Errorf("loading --tls-cert and --tls-key: %w", err)}
	}
	o.certificate = &cert
	return nil
}

// fromEnvironment sets the flags that the command line did not set. It ignores a variable of the
// service's prefix that is not a flag, such as LEDGERSYNC_FORM; an unknown key in the file is an
// error. Kubernetes sets such variables for every Service object, for example
// LEDGERSYNC_SERVICE_HOST, so a mistake cannot be recognised.
func fromEnvironment(f *pflag.FlagSet, service string, env func(string) (string, bool)) error {
	var failed error
	f.VisitAll(func(flag *pflag.Flag) {
		name := envName(service, flag.Name)
		value, _ := env(name)
		if value == "" || failed != nil || flag.Name == "help" {
			return
		}
		values := []string{value}
		if _, ok := flag.Value.(*pairsValue); ok { // NOTIFYD_SET=queue=ring,workers=8
			values = strings.Split(value, ",")
		}
		failed = supply(f, flag, name, values)
	})
	return failed
}

// supply gives a flag values from the environment or the file. The command line takes precedence;
// pairs (--set) accumulate, and the first value of a name is kept.
func supply(f *pflag.FlagSet, flag *pflag.Flag, where string, values []string) error {
	if set, ok := flag.Value.(*pairsValue); ok {
		if err := set.below(values); err != nil {
			return usageError{fmt.Errorf("%s: %w", where, err)}
		}
		return nil
	}
	if flag.Changed {
		return nil
	}
	for _, value := range values {
		if err := f.Set(flag.Name, value); err != nil {
			return usageError{fmt.Errorf("%s: %w", where, FlagError(err))}
		}
	}
	return nil
}

func envPrefix(service string) string {
	return strings.ToUpper(strings.ReplaceAll(service, "-", "_"))
}

func envName(service, flag string) string { return envPrefix(service) + "_" + envPrefix(flag) }

// pairsValue is the pflag.Value of --set and --otlp-sample: NAME=VALUE; a name's last value counts.
type pairsValue struct {
	pairs map[string]string
	alone string // the name of a value that comes without one; "": it must have one
}

func (p *pairsValue) Type() string   { return "NAME=VALUE" }
func (p *pairsValue) String() string { return strings.Join(pairs(p.pairs), " ") }

func (p *pairsValue) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok && p.alone != "" {
		name, value, ok = p.alone, text, true
	}
	if !ok || name == "" {
		return errors.New("it takes NAME=VALUE")
	}
	if p.pairs == nil {
		p.pairs = make(map[string]string)
	}
	p.pairs[name] = value
	return nil
}

// below adds pairs whose names are not taken yet.
func (p *pairsValue) below(texts []string) error {
	lower := pairsValue{alone: p.alone}
	for _, text := range texts {
		if err := lower.Set(text); err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
	}
	upper := p.values()
	p.pairs = lower.values()
	maps.Copy(p.pairs, upper)
	return nil
}

// values returns a copy.
func (p *pairsValue) values() map[string]string {
	out := make(map[string]string, len(p.pairs))
	maps.Copy(out, p.pairs)
	return out
}
