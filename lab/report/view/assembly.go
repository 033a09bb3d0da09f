package view

import (
	"bytes"
	"encoding/json"

	"dyno/lab/record"
	"dyno/lab/report/format"
)

// Assembly is the resolved assembly of a variant.
type Assembly struct {
	Variant string
	Command string
	Args    string
	JSON    json.RawMessage // indented; nil: the target has no agent
}

// Assemblies are the variants' assemblies, as recorded by each one's first run.
func Assemblies(e *record.Experiment) []Assembly {
	var out []Assembly
	for _, name := range e.VariantNames() {
		v, _ := e.Variant(name)
		a := Assembly{Variant: name, Args: format.Command(v.Args)}
		for _, r := range e.Runs {
			if r.Spec.Variant == name && (len(r.Target.Command) > 0 || len(r.Target.Assembly) > 0) {
				a.Command, a.JSON = format.Command(r.Target.Command), indented(r.Target.Assembly)
				break
			}
		}
		if a.Command != "" || a.Args != "" || a.JSON != nil {
			out = append(out, a)
		}
	}
	return out
}

func indented(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if len(raw) == 0 || json.Indent(&b, raw, "", "  ") != nil {
		return nil
	}
	return b.Bytes()
}
