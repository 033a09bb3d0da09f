package scenario

import (
	"fmt"
	"maps"
	"strings"
)

// Variant returns the variant of that name. The error lists what exists and suggests the nearest.
func (s *Scenario) Variant(name string) (Variant, error) {
	names := make([]string, len(s.Variants))
	for i, v := range s.Variants {
		if v.Name == name {
			return v, nil
		}
		names[i] = v.Name
	}
	if len(names) == 0 {
		return Variant{}, fmt.Errorf("%s declares no variants, so there is none called %q", s.Path, name)
	}
	if near, ok := nearest(name, names); ok {
		return Variant{}, fmt.Errorf("%s has no variant %q; did you mean %q?", s.Path, name, near)
	}
	return Variant{}, fmt.Errorf("%s has no variant %q; there are %s", s.Path, name, strings.Join(names, ", "))
}

// TargetOf returns the target as the variant starts it. A variant that names a program of its own gets
// its own arguments alone; any other gets its arguments after the target's. Its environment lies on top
// of the target's in both cases.
func (s *Scenario) TargetOf(v Variant) Target {
	t := s.Target
	switch {
	case v.Build != "" || len(v.Command) > 0:
		t.Build, t.Command, t.Args = v.Build, v.Command, v.Args
	default:
		t.Args = append(append([]string(nil), t.Args...), v.Args...)
	}
	if len(v.Env) > 0 {
		t.Env = maps.Clone(t.Env)
		if t.Env == nil {
			t.Env = map[string]string{}
		}
		maps.Copy(t.Env, v.Env)
	}
	return t
}
