// Package remote is the command line of load agents: the command that runs one, and the flags with
// which a measuring command has them send its load.
//
// It is not for what agents do (lab/load/agents). The goroutines of a command end with it.
package remote

import (
	"context"
	"net"
	"time"

	"dyno/cmd/dyno/usage"
	"dyno/lab/experiment"
	"dyno/lab/load"
	"dyno/lab/load/agents"
	"dyno/lab/load/agents/natsbus"

	"github.com/spf13/pflag"
)

// gathering bounds the wait for agents before an experiment begins.
const gathering = 2 * time.Minute

// Flags describe the agents that share the load of a measuring command.
type Flags struct {
	join, listen, tokenFile string
	expect                  int
}

// Register adds the flags to those of a command.
func (a *Flags) Register(f *pflag.FlagSet) {
	f.StringVar(&a.join, "agents", "", "have agents send the load: URL of the NATS server that they join, as in nats://10.0.0.1:4222")
	f.StringVar(&a.listen, "agents-listen", "", "have agents send the load: address of a NATS server to start for them, as in 127.0.0.1:4222")
	f.IntVar(&a.expect, "agents-expect", 1, "number of agents to wait for")
	f.StringVar(&a.tokenFile, "token-file", "", "file with the token that agents and coordinator share")
}

// Gather waits for the agents and enters them into the options, until release is called.
func (a *Flags) Gather(ctx context.Context, o *experiment.Options, version string) (release func(), err error) {
	bus, err := a.bus(o.Progress.Say)
	if err != nil || bus == nil {
		return func() {}, err
	}
	if a.listen != "" {
		o.Progress.Say("agents join with: dyno agent --join " + bus.URL() + " --token-file " + a.tokenFile)
	}
	group, err := agents.Gather(ctx, bus, agents.Options{Expect: a.expect, Version: version, Wait: gathering, Say: o.Progress.Say})
	if err != nil {
		bus.Close()
		return nil, err
	}
	o.Agents = group
	return func() {
		group.Close()
		bus.Close()
	}, nil
}

// bus connects to the agents' NATS server, or starts one; nil: there are no agents.
func (a *Flags) bus(say func(string)) (*natsbus.Bus, error) {
	switch {
	case a.join == "" && a.listen == "":
		if a.tokenFile != "" || a.expect != 1 {
			return nil, usage.Errorf("--token-file and --agents-expect are for agents: add --agents nats://HOST:PORT or --agents-listen ADDRESS")
		}
		return nil, nil
	case a.join != "" && a.listen != "":
		return nil, usage.Errorf("--agents and --agents-listen exclude each other; give one of them")
	case a.expect < 1 || a.expect > agents.MostAgents:
		return nil, usage.Errorf("--agents-expect takes 1 to %d, not %d", agents.MostAgents, a.expect)
	case a.listen == "":
		token, err := tokenOf(a.tokenFile)
		if err != nil {
			return nil, err
		}
		return natsbus.Connect(a.join, token)
	case a.tokenFile == "":
		return nil, usage.Errorf("--agents-listen needs --token-file FILE, so that no other process can join; make one with: openssl rand -hex 32 > FILE")
	}
	token, err := tokenOf(a.tokenFile)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(a.listen)
	if err != nil {
		return nil, usage.Errorf("--agents-listen takes an address with a port, as in 127.0.0.1:4222, not %q", a.listen)
	}
	if host == "" || !load.Loopback(host) {
		say("warning: agents talk to " + a.listen + " without encryption: every machine on the way can read the token and the requests")
	}
	return natsbus.Listen(a.listen, token)
}

// tokenOf reads a token; empty: no file was given.
func tokenOf(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	token, err := natsbus.ReadToken(file)
	if err != nil {
		return "", usage.Of(err)
	}
	return token, nil
}
