package main

import (
	"context"
	"crypto/tls"
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

// agentFlags are the flags about the agents that share the load of a measuring command.
type agentFlags struct {
	join, listen, tokenFile, tls string
	expect                       int
}

// Register adds the flags to a command's flags.
func (a *agentFlags) Register(f *pflag.FlagSet) {
	f.StringVar(&a.join, "agents", "", "have agents send the load: URL of the NATS server that they join, as in nats://10.0.0.1:4222")
	f.StringVar(&a.listen, "agents-listen", "", "have agents send the load: address of a NATS server to start for them, as in 127.0.0.1:4222")
	f.StringVar(&a.tls, "agents-tls", "", "of --agents-listen: PEM file with a certificate and its key, or off (no encryption); required beyond loopback")
	f.IntVar(&a.expect, "agents-expect", 1, "number of agents to wait for")
	f.StringVar(&a.tokenFile, "token-file", "", "file with the token that agents and coordinator share")
}

// Gather waits for the agents and puts them into the options; release releases them.
func (a *agentFlags) Gather(ctx context.Context, o *experiment.Options, version string) (release func(), err error) {
	bus, err := a.bus(o.Progress.Say)
	if err != nil || bus == nil {
		return func() {}, err
	}
	if a.listen != "" {
		o.Progress.Say("agents join with: dyno agent --join " + bus.URL() + " --token-file " + a.tokenFile + a.trusting())
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

// trusting returns the flags that an agent's command needs for TLS.
func (a *agentFlags) trusting() string {
	if a.tls == "" || a.tls == "off" {
		return ""
	}
	return " --tls-ca FILE"
}

// bus connects to the agents' NATS server, or starts one. It returns nil if the flags ask for no
// agents.
func (a *agentFlags) bus(say func(string)) (*natsbus.Bus, error) {
	switch {
	case a.join == "" && a.listen == "":
		if a.tokenFile != "" || a.expect != 1 || a.tls != "" {
			return nil, usage.Errorf("--token-file, --agents-expect and --agents-tls are for agents: add --agents nats://HOST:PORT or --agents-listen ADDRESS")
		}
		return nil, nil
	case a.join != "" && a.listen != "":
		return nil, usage.Errorf("--agents and --agents-listen exclude each other; give one of them")
	case a.expect < 1 || a.expect > agents.MostAgents:
		return nil, usage.Errorf("--agents-expect takes 1 to %d, not %d", agents.MostAgents, a.expect)
	case a.listen == "" && a.tls != "":
		return nil, usage.Errorf("--agents-tls is for the server of --agents-listen; a server elsewhere speaks TLS if its URL begins with tls://")
	case a.listen == "":
		token, err := tokenOf(a.tokenFile)
		if err != nil {
			return nil, err
		}
		return natsbus.Connect(a.join, token, "")
	case a.tokenFile == "":
		return nil, usage.Errorf("--agents-listen needs --token-file FILE, so that no other process can join; make one with: openssl rand -hex 32 > FILE")
	}
	token, err := tokenOf(a.tokenFile)
	if err != nil {
		return nil, err
	}
	certificate, err := a.certificate(say)
	if err != nil {
		return nil, err
	}
	return natsbus.Listen(a.listen, token, certificate)
}

// certificate returns the certificate for the server that this process starts. It returns nil if
// the server does without TLS; on an address other than loopback the user must ask for that.
func (a *agentFlags) certificate(say func(string)) (*tls.Certificate, error) {
	host, _, err := net.SplitHostPort(a.listen)
	switch beyond := host == "" || !load.Loopback(host); {
	case err != nil:
		return nil, usage.Errorf("--agents-listen takes an address with a port, as in 127.0.0.1:4222, not %q", a.listen)
	case a.tls != "" && a.tls != "off":
		c, err := natsbus.ReadCertificate(a.tls)
		if err != nil {
			return nil, usage.Of(err)
		}
		return c, nil
	case beyond && a.tls == "":
		return nil, usage.Errorf("--agents-listen %s is open to other machines, which could read the token and the requests: give a certificate (--agents-tls FILE), listen on 127.0.0.1 and let agents come through ssh -R, or permit it on a network that you trust (--agents-tls off)", a.listen)
	case beyond:
		say("warning: agents talk to " + a.listen + " without encryption: every machine on the way can read the token and the requests")
	}
	return nil, nil
}

// tokenOf reads a token from a file; without a file it returns an empty token.
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
