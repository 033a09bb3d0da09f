// Package config completes a command line: flags that it did not set take their values from
// environment variables, and after those from a YAML file with flags as keys. It also describes a
// wrong value in a user's words.
//
// It is not for declaring flags (package pflag) or checking values together: the caller does. Every
// error is one that the user can fix. It starts no goroutines.
package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// FromEnvironment sets the flags that the command line did not set. It ignores a variable of the
// service's prefix that is not a flag, such as LEDGERSYNC_FORM; an unknown key in the file is an
// error. Kubernetes sets such variables for every Service object, for example
// LEDGERSYNC_SERVICE_HOST, so a mistake cannot be recognised.
func FromEnvironment(f *pflag.FlagSet, service string, env func(string) (string, bool)) error {
	var failed error
	f.VisitAll(func(flag *pflag.Flag) {
		name := EnvName(service, flag.Name)
		value, _ := env(name)
		if value == "" || failed != nil || flag.Name == "help" {
			return
		}
		values := []string{value}
		if _, ok := flag.Value.(*Pairs); ok { // NOTIFYD_SET=queue=ring,workers=8
			values = strings.Split(value, ",")
		}
		failed = supply(f, flag, name, values)
	})
	return failed
}

// supply gives a flag values from the environment or the file. The command line takes precedence;
// pairs (--set) accumulate, and the first value of a name is kept.
func supply(f *pflag.FlagSet, flag *pflag.Flag, where string, values []string) error {
	if set, ok := flag.Value.(*Pairs); ok {
		if err := set.below(values); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		return nil
	}
	if flag.Changed {
		return nil
	}
	for _, value := range values {
		if err := f.Set(flag.Name, value); err != nil {
			return fmt.Errorf("%s: %w", where, FlagError(err))
		}
	}
	return nil
}

// EnvPrefix begins the names of a service's variables.
func EnvPrefix(service string) string {
	return strings.ToUpper(strings.ReplaceAll(service, "-", "_"))
}

// EnvName is the variable of a flag: NOTIFYD_READ_TIMEOUT of notifyd's --read-timeout.
func EnvName(service, flag string) string { return EnvPrefix(service) + "_" + EnvPrefix(flag) }

// Pairs is a pflag.Value that takes NAME=VALUE repeatedly; a name's last value counts.
type Pairs struct {
	Alone string // the name of a value that comes without one; "": it must have one

	pairs map[string]string
}

// Type is what --help calls a value.
func (p *Pairs) Type() string { return "NAME=VALUE" }

// String lists the pairs by name.
func (p *Pairs) String() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(p.pairs)) {
		out = append(out, name+"="+p.pairs[name])
	}
	return strings.Join(out, " ")
}

// Set adds a pair, or replaces the value of its name.
func (p *Pairs) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok && p.Alone != "" {
		name, value, ok = p.Alone, text, true
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
func (p *Pairs) below(texts []string) error {
	lower := Pairs{Alone: p.Alone}
	for _, text := range texts {
		if err := lower.Set(text); err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
	}
	upper := p.Values()
	p.pairs = lower.Values()
	maps.Copy(p.pairs, upper)
	return nil
}

// Values returns a copy of the pairs.
func (p *Pairs) Values() map[string]string {
	out := make(map[string]string, len(p.pairs))
	maps.Copy(out, p.pairs)
	return out
}
