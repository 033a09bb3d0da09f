package daemon

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Names of the two assemblies that every service has: no step of the ladder, and all of them.
const (
	Baseline = "baseline"
	Tuned    = "tuned"
)

// Assembly declares the parts of a service: for each seam its implementations, the settings, and
// the ladder from the plain first version to the tuned one.
type Assembly struct {
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
func (a Assembly) Names() []string {
	names := []string{Baseline}
	for _, step := range a.Ladder {
		names = append(names, step.Name)
	}
	return append(names, Tuned)
}

// Resolve builds a choice: every seam's first implementation and every setting's default, then the
// ladder up to the step called name, then the overrides. An unknown name is an error that lists the
// known ones; Resolve never replaces it silently by a default.
func (a Assembly) Resolve(name string, overrides map[string]string) (Choice, error) {
	rungs := slices.Index(a.Names(), name)
	if rungs < 0 {
		return Choice{}, unknown("assembly", name, a.Names())
	}
	c := Choice{name: name, values: make(map[string]string), assembly: a}
	for _, seam := range a.Seams {
		c.values[seam.Name] = seam.Impls[0].Name
	}
	for _, s := range a.Settings {
		c.values[s.Name] = s.Default
	}
	for _, step := range a.Ladder[:min(rungs, len(a.Ladder))] { // tuned comes after the last step
		maps.Copy(c.values, step.Change)
	}
	for _, key := range slices.Sorted(maps.Keys(overrides)) {
		if err := a.accepts(key, overrides[key]); err != nil {
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
func (a Assembly) Variants() (out []Variant) {
	seen := map[[2]string]bool{}
	for i, name := range a.Names() {
		if i > 0 && i == len(a.Ladder) {
			continue
		}
		out = append(out, Variant{Label: name, Assembly: name})
	}
	for _, step := range a.Ladder {
		for seam, impl := range step.Change {
			seen[[2]string{seam, impl}] = true
		}
	}
	for _, seam := range a.Seams {
		for _, impl := range seam.Impls[1:] { // the first is the baseline's
			if !seen[[2]string{seam.Name, impl.Name}] {
				out = append(out, Variant{Tuned + "," + seam.Name + "=" + impl.Name, Tuned, map[string]string{seam.Name: impl.Name}})
			}
		}
	}
	return out
}

// accepts reports whether a seam or setting called key exists and can become value.
func (a Assembly) accepts(key, value string) error {
	var keys []string
	for _, seam := range a.Seams {
		if seam.Name == key {
			return seam.accepts(value)
		}
		keys = append(keys, seam.Name)
	}
	for _, s := range a.Settings {
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
func (a Assembly) Check() error {
	names := make(unique)
	for _, seam := range a.Seams {
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
	for _, s := range a.Settings {
		if err := names.add(s.Name); err != nil {
			return err
		}
		if err := s.check(s.Default); err != nil {
			return fmt.Errorf("assembly: default of %w", err)
		}
	}
	return a.checkLadder()
}

func (a Assembly) checkLadder() error {
	steps := make(unique)
	for _, name := range a.Names() {
		if err := steps.add(name); err != nil {
			return err
		}
	}
	for _, step := range a.Ladder {
		if len(step.Change) == 0 {
			return fmt.Errorf("assembly: step %s changes nothing", step.Name)
		}
		for key, value := range step.Change {
			if err := a.accepts(key, value); err != nil {
				return fmt.Errorf("assembly: step %s: %w", step.Name, err)
			}
		}
	}
	return nil
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
// which Bind reads. It panics if the program asks for an undeclared name or another kind of
// setting.
type Choice struct {
	name     string
	values   map[string]string
	assembly Assembly
}

// Name returns the assembly's name, without the overrides.
func (c Choice) Name() string { return c.name }

// Get returns the implementation chosen for a seam, or a setting as it was written.
func (c Choice) Get(name string) string {
	value, ok := c.values[name]
	if !ok {
		panic(fmt.Sprintf("daemon: the assembly declares no %q", name))
	}
	return value
}

// MarshalJSON gives the choice as {"name":..,"seams":{..},"settings":{..}}.
func (c Choice) MarshalJSON() ([]byte, error) {
	out := struct {
		Name     string            `json:"name"`
		Seams    map[string]string `json:"seams"`
		Settings map[string]string `json:"settings"`
	}{c.name, make(map[string]string), make(map[string]string)}
	for _, seam := range c.assembly.Seams {
		out.Seams[seam.Name] = c.values[seam.Name]
	}
	for _, s := range c.assembly.Settings {
		out.Settings[s.Name] = c.values[s.Name]
	}
	return json.Marshal(out)
}
