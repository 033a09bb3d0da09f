package generator

import (
	"fmt"
	"os"

	"dyno/lab/load/nethttp"
	"dyno/lab/probe/profiling"
)

// Debug returns a debug address, whose certificate is verified as that of the load's URL is.
func (b *Generator) Debug(url, token string) (profiling.Address, error) {
	t, err := b.tls()
	if err != nil {
		return profiling.Address{}, err
	}
	settings, err := t.Config("", false)
	return profiling.Address{URL: url, Token: token, TLS: settings}, err
}

// tls returns the TLS settings of the load's URL, with the content of the file of authorities.
func (b *Generator) tls() (nethttp.TLS, error) {
	of := b.Scenario.Load.TLS
	out := nethttp.TLS{Insecure: of.Insecure}
	if of.CA == "" {
		return out, nil
	}
	file := b.Scenario.Resolve(of.CA)
	var err error
	if out.CA, err = os.ReadFile(file); err != nil {
		return out, fmt.Errorf("reading the certificate authority: %w", err)
	}
	if _, err := out.Config("", false); err != nil {
		return out, fmt.Errorf("%s: %w", file, err)
	}
	return out, nil
}
