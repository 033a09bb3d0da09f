package usage

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// foreign maps flags of ab, curl, hey, k6, Locust, oha, vegeta, wrk and wrk2 that dyno does not
// have to what to write instead. %s stands for the flag's value. If there is a |, the text before
// it is for a value that is a number, the text after it for any other.
var foreign = map[string]string{
	"rps": "-r %s", "qps": "-r %s", "q": "-r %s", "R": "-r %s", "arrival-rate": "-r %s",
	"z": "-d %s", "time": "-d %s", "run-time": "-d %s", "timelimit": "-d %ss",
	"vus": "-c %s", "u": "-c %s", "users": "-c %s", "concurrency": "-c %s", "clients": "-c %s", "workers": "-c %s", "max-workers": "-c %s", "max-connections": "-c %s",
	"X": "-m %s", "request": "-m %s", "i": "-m HEAD", "head": "-m HEAD",
	"data": "-b %s", "data-raw": "-b %s", "data-binary": "-b %s", "json": "-b %s", "D": "-b @%s", "p": "-b @%s", "body-file": "-b @%s",
	"T": "-H 'Content-Type: %s'", "content-type": "-H 'Content-Type: %s'", "A": "-H 'Accept: %s'", "user-agent": "-H 'User-Agent: %s'", "cookie": "-H 'Cookie: %s'", "C": "-H 'Cookie: %s'",
	"host": "-H 'Host: %s'", "P": "-H 'Authorization: Basic ...', with user and password in base64", "user": "-H 'Authorization: Basic ...', with user and password in base64",
	"a":  "-H 'Authorization: Basic ...', with user and password in base64",
	"h2": "--http2", "http2-prior-knowledge": "--http2", "h2c": "--http2",
	"o": "--out FOLDER, or --json for one object on stdout", "output": "--out FOLDER, or --json for one object on stdout", "summary-export": "--json",
	"n": "-d 10s: a load lasts for a time, not for a number of requests", "requests": "-d 10s: a load lasts for a time, not for a number of requests",
	"iterations": "-d 10s: a load lasts for a time, not for a number of requests",
	"t":          "-d %ss if it is ab's time limit; wrk's threads need no flag, since dyno starts as many as the load needs", "threads": "no flag: dyno starts as many threads as the load needs",
	"cpus":    "no flag: dyno starts as many threads as the load needs",
	"latency": "no flag: latencies are always printed", "L": "load.follow: 1 in a scenario for redirects; latencies are always printed",
	"s": "--timeout %ss|a scenario (dyno init URL); scripts of k6 and Locust are run (dyno import), those of wrk are not", "script": "a scenario (dyno init URL); scripts of k6 and Locust are run (dyno import), those of wrk are not",
	"targets": "dyno import %s, which writes a scenario", "stages": "load.schedule: {kind: step} in a scenario (dyno init URL)", "stage": "load.schedule: {kind: step} in a scenario (dyno init URL)",
	"spawn-rate": "load.schedule: {kind: ramp} in a scenario (dyno init URL)", "max-redirects": "load.follow: %s in a scenario (dyno init URL)", "location": "load.follow: 1 in a scenario (dyno init URL)",
	"redirects": "load.follow: %s in a scenario (dyno init URL)", "cert": "load.tls in a scenario (dyno init URL)", "cacert": "load.tls: {ca: %s} in a scenario (dyno init URL)", "root-certs": "load.tls: {ca: %s} in a scenario (dyno init URL)",
	"disable-keepalive": "no flag: connections are always kept open", "keepalive": "no flag: connections are always kept open", "x": "no flag: the load goes to the target itself, not through a proxy",
	"proxy": "no flag: the load goes to the target itself, not through a proxy",
}

type lineKey struct{}

// WithLine stores the arguments of a command line for error messages.
func WithLine(ctx context.Context, args []string) context.Context {
	return context.WithValue(ctx, lineKey{}, args)
}

func line(cmd *cobra.Command) []string {
	args, _ := cmd.Context().Value(lineKey{}).([]string)
	return args
}

// fromElsewhere returns what to write instead of a flag of another tool. It is empty if the flag
// is none of these, or if the command sends no requests to a URL.
func fromElsewhere(cmd *cobra.Command, name string) string {
	write, ok := foreign[name]
	if !ok || cmd.Flags().Lookup("connections") == nil {
		return ""
	}
	value := given(line(cmd), name)
	if number, other, ok := strings.Cut(write, "|"); ok {
		write = number
		if _, err := strconv.ParseFloat(value, 64); err != nil {
			write = other
		}
	}
	if strings.Contains(write, "%s") {
		write = fmt.Sprintf(write, value)
	}
	if why, ok := strings.CutPrefix(write, "no flag: "); ok {
		return "it needs no flag: " + why
	}
	return "write " + write
}

// given returns the value that a flag has on a command line, or VALUE if it has none.
func given(args []string, name string) string {
	for i, arg := range args {
		bare := strings.TrimLeft(arg, "-")
		own, value, joined := strings.Cut(bare, "=")
		switch {
		case bare == arg:
		case own == name && joined:
			return value
		case own == name && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"):
			return args[i+1]
		case len(name) == 1 && strings.HasPrefix(bare, name) && len(bare) > 1 && !strings.HasPrefix(arg, "--"):
			return bare[1:] // -n100
		}
	}
	return "VALUE"
}

// oneDash returns an error for a long flag with a single dash, as Go's package flag permits it.
// pflag takes its letters for short flags: -rate means -r ate.
func oneDash(cmd *cobra.Command) error {
	args := line(cmd)
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		arg := args[i]
		if long, ok := strings.CutPrefix(arg, "--"); ok {
			if f := cmd.Flags().Lookup(long); f != nil && f.NoOptDefVal == "" {
				i++ // skip its value
			}
			continue
		}
		bare, ok := strings.CutPrefix(arg, "-")
		name, _, _ := strings.Cut(bare, "=")
		if !ok || len(name) < 2 {
			if f := short(cmd, name); f != nil && f.NoOptDefVal == "" && bare == name {
				i++
			}
			continue
		}
		if f := cmd.Flags().Lookup(name); f != nil && (f.NoOptDefVal == "" || short(cmd, name[:1]) == nil) {
			if value := given(args, name); f.NoOptDefVal == "" {
				return Errorf("%s: a long name has two dashes; write --%s %s", arg, name, value)
			}
			return Errorf("%s: a long name has two dashes; write --%s", arg, name)
		}
		if write := fromElsewhere(cmd, name); write != "" {
			return Errorf("unknown flag: -%s; %s", name, write)
		}
	}
	return nil
}

func short(cmd *cobra.Command, letter string) *pflag.Flag {
	if len(letter) != 1 {
		return nil
	}
	return cmd.Flags().ShorthandLookup(letter)
}
