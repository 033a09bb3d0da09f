package generator

import (
	"dyno/lab/load/nethttp"
	"dyno/lab/probe/profiling"
)

// Debug returns a debug address, whose certificate is judged like that of the load's URL.
func (b *Generator) Debug(url, token string) (profiling.Address, error) {
	t := b.tls()
	settings, err := t.Config("", false)
	return profiling.Address{URL: url, Token: token, TLS: settings}, err
}

func (b *Generator) tls() nethttp.TLS {
	out := nethttp.TLS{Insecure: b.Scenario.Load.TLS.Insecure}
	if ca := b.Scenario.Load.TLS.CA; ca != "" {
		out.CAFile = b.Scenario.Resolve(ca)
	}
	return out
}
