// Package assembly declares what a service is put together from, and reads one choice of it into
// structs: seams with their implementations, settings as tagged fields, and the ladder of steps
// from the plain first version to the tuned one.
//
// It is not for where a choice comes from (flags, environment and file are package config's), nor
// for implementations: a service reads the chosen names and builds its parts. It starts no
// goroutines.
package assembly

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"dyno/parts/redact"
	"dyno/parts/refusal"
)

// Names of the two assemblies that every service has: no step of the ladder, and all of them.
const (
	Baseline = "baseline"
	Tuned    = "tuned"
)

// Parts declares the parts of a service: for each seam its implementations, the settings, and the
// ladder from the plain first version to the tuned one.
type Parts struct {
	Seams    []Seam
	Settings []Setting
	Ladder   []Step
}

// Seam is a place where one of several implementations is put in. The first is the baseline's.
type Seam struct {
	Name  string `json:"name"`
	Doc   string `json:"doc"`
	Impls []Impl `json:"implementations"`
}

// Impl is one implementation of a seam.
type Impl struct {
	Name string `json:"name"`
	Doc  string `json:"doc"` // one line
}

// Step is one step of the ladder: one change of a seam or a setting, or several that only make
// sense together. The assembly with a step's name is the ladder up to and including it.
type Step struct {
	Name   string            `json:"name"`
	Change map[string]string `json:"change"` // seam or setting -> what it becomes
	Why    string            `json:"why"`    // one line
}

// Names returns the assemblies that can be asked for: baseline, the steps in order, tuned.
func (p Parts) Names() []string {
	names := []string{Baseline}
	for _, step := range p.Ladder {
		names = append(names, step.Name)
	}
	return append(names, Tuned)
}

// Resolve builds a choice: every seam's first implementation and every setting's default, then the
// ladder up to the step called name, then the overrides. An unknown name is an error that lists the
// known ones; Resolve never replaces it silently by a default.
func (p Parts) Resolve(name string, overrides map[string]string) (Choice, error) {
	rungs := slices.Index(p.Names(), name)
	if rungs < 0 {
		return Choice{}, unknown("assembly", name, p.Names())
	}
	c := Choice{name: name, values: make(map[string]string), parts: p}
	for _, seam := range p.Seams {
		c.values[seam.Name] = seam.Impls[0].Name
	}
	for _, s := range p.Settings {
		c.values[s.Name] = s.Default
	}
	for _, step := range p.Ladder[:min(rungs, len(p.Ladder))] { // tuned comes after the last step
		maps.Copy(c.values, step.Change)
	}
	for _, key := range slices.Sorted(maps.Keys(overrides)) {
		if err := p.accepts(key, overrides[key]); err != nil {
			return Choice{}, err
		}
		c.values[key] = overrides[key]
	}
	return c, nil
}

// Variant is an assembly and what is set on top of it.
type Variant struct {
	Label    string // NAME, or NAME,SEAM=IMPL
	Assembly string
	Set      map[string]string
}

// Variants lists choices in which every implementation of every seam occurs, so that a suite that
// passes for all of them covers each part: every named assembly except the last step, which is
// tuned; and tuned with each implementation that is in no step of the ladder, one at a time.
func (p Parts) Variants() (out []Variant) {
	seen := map[[2]string]bool{}
	for i, name := range p.Names() {
		if i > 0 && i == len(p.Ladder) {
			continue
		}
		out = append(out, Variant{Label: name, Assembly: name})
	}
	for _, step := range p.Ladder {
		for seam, impl := range step.Change {
			seen[[2]string{seam, impl}] = true
		}
	}
	for _, seam := range p.Seams {
		for _, impl := range seam.Impls[1:] { // the first is the baseline's
			if !seen[[2]string{seam.Name, impl.Name}] {
				out = append(out, Variant{Tuned + "," + seam.Name + "=" + impl.Name, Tuned, map[string]string{seam.Name: impl.Name}})
			}
		}
	}
	return out
}

// accepts reports whether a seam or setting called key exists and can become value.
func (p Parts) accepts(key, value string) error {
	var keys []string
	for _, seam := range p.Seams {
		if seam.Name == key {
			return seam.accepts(value)
		}
		keys = append(keys, seam.Name)
	}
	for _, s := range p.Settings {
		if s.Name == key {
			return s.check(value)
		}
		keys = append(keys, s.Name)
	}
	return unknown("seam or setting", key, keys)
}

func (s Seam) accepts(impl string) error {
	var names []string
	for _, i := range s.Impls {
		names = append(names, i.Name)
	}
	if slices.Contains(names, impl) {
		return nil
	}
	return unknown("implementation of seam "+s.Name, impl, names)
}

// Check returns an error when the declaration contradicts itself: a name used twice, a seam without
// implementations, a default out of its bounds, a step without a change or with an unknown name.
func (p Parts) Check() error {
	names := make(unique)
	for _, seam := range p.Seams {
		if err := names.add(seam.Name); err != nil {
			return err
		}
		if len(seam.Impls) == 0 {
			return fmt.Errorf("assembly: seam %s has no implementation", seam.Name)
		}
		impls := make(unique)
		for _, i := range seam.Impls {
			if err := impls.add(i.Name); err != nil {
				return err
			}
		}
	}
	for _, s := range p.Settings {
		if err := names.add(s.Name); err != nil {
			return err
		}
		if err := s.check(s.Default); err != nil {
			return fmt.Errorf("assembly: default of %w", err)
		}
	}
	return p.checkLadder()
}

func (p Parts) checkLadder() error {
	steps := make(unique)
	for _, name := range p.Names() {
		if err := steps.add(name); err != nil {
			return err
		}
	}
	for _, step := range p.Ladder {
		if len(step.Change) == 0 {
			return fmt.Errorf("assembly: step %s changes nothing", step.Name)
		}
		for key, value := range step.Change {
			if err := p.accepts(key, value); err != nil {
				return fmt.Errorf("assembly: step %s: %w", step.Name, err)
			}
		}
	}
	return nil
}

// unknown is the error for a name that does not exist.
func unknown(kind, name string, exist []string) error {
	if len(exist) == 0 {
		return fmt.Errorf("unknown %s %q; this service has none", kind, name)
	}
	return refusal.Unknown(kind, name, exist...)
}

// unique is a set of names.
type unique map[string]bool

func (u unique) add(name string) error {
	if name == "" || u[name] {
		return fmt.Errorf("assembly: the name %q is empty or used twice", name)
	}
	u[name] = true
	return nil
}

// Choice is a resolved assembly: the implementation of each seam and the value of each setting,
// which Bind reads.
type Choice struct {
	name   string
	values map[string]string
	parts  Parts
}

// Name returns the assembly's name, without the overrides.
func (c Choice) Name() string { return c.name }

// Get returns the implementation chosen for a seam, or a setting as it was written. It panics if
// the name is not declared.
func (c Choice) Get(name string) string {
	value, ok := c.values[name]
	if !ok {
		panic(fmt.Sprintf("assembly: the assembly declares no %q", name))
	}
	return value
}

// MarshalJSON gives the choice as {"name":..,"seams":{..},"settings":{..}}, to be shown: passwords
// and tokens in texts are hidden. Get and Bind return them.
func (c Choice) MarshalJSON() ([]byte, error) {
	out := struct {
		Name     string            `json:"name"`
		Seams    map[string]string `json:"seams"`
		Settings map[string]string `json:"settings"`
	}{c.name, make(map[string]string), make(map[string]string)}
	for _, seam := range c.parts.Seams {
		out.Seams[seam.Name] = c.values[seam.Name]
	}
	for _, s := range c.parts.Settings {
		out.Settings[s.Name] = redact.Setting(s.Name, c.values[s.Name])
	}
	return json.Marshal(out)
}
