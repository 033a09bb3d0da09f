package scenario

import (
	"cmp"
	"fmt"

	"dyno/lab/workload"

	"go.yaml.in/yaml/v3"
)

// File is the form of a scenario in YAML: the same fields, with those of its load in one mapping.
type File struct {
	Scenario `yaml:",inline"`
	Load     Fields `yaml:"load"`
}

// Fields are the fields of load in a file. Method and Body are those of the only kind of request
// or, if there are classes, of the classes that leave them out.
type Fields struct {
	workload.Load `yaml:",inline"`
	Method        string        `yaml:"method,omitempty"`
	Body          workload.Body `yaml:",inline"`
	Sessions      Numbers       `yaml:"sessions,omitempty"`
}

// Search is the text that stands for the highest number that meets the SLO.
const Search = "search"

// Numbers is a number, a list of numbers, or Search, which gives none.
type Numbers []int

// UnmarshalYAML reads any of these forms.
func (n *Numbers) UnmarshalYAML(node *yaml.Node) error {
	*n = nil
	switch {
	case node.Kind == yaml.SequenceNode:
		return node.Decode((*[]int)(n))
	case node.Value == Search:
		return nil
	}
	one := 0
	if err := node.Decode(&one); err != nil {
		return fmt.Errorf("line %d: expected %s, a number or a list of numbers", node.Line, Search)
	}
	*n = Numbers{one}
	return nil
}

// Whole is the load that the fields describe.
func (f *Fields) Whole() Load {
	l := f.Load
	switch l.Kind {
	case workload.Requests, workload.GRPC, "":
		l.Requests = f.mix()
	case workload.Jobs:
		l.Job = cmp.Or(l.Job, &workload.Job{})
	case workload.Sessions:
		of := workload.Session{}
		if l.Sessions != nil {
			of = *l.Sessions
		}
		of.Numbers = f.Sessions
		l.Sessions = &of
	}
	return l
}

// mix completes the classes with what they leave out.
func (f *Fields) mix() []workload.Request {
	if len(f.Load.Requests) == 0 {
		return []workload.Request{{Method: f.Method, Body: f.Body}}
	}
	out := make([]workload.Request, len(f.Load.Requests))
	for i, r := range f.Load.Requests {
		r.Method = cmp.Or(r.Method, f.Method)
		if r.Body == (workload.Body{}) {
			r.Body = f.Body
		}
		out[i] = r
	}
	return out
}

// FieldsOf returns the fields that describe a load.
func FieldsOf(l Load) Fields {
	out := Fields{Load: l}
	if l.Sessions != nil {
		out.Sessions = l.Sessions.Numbers
	}
	if len(l.Requests) == 1 {
		only := l.Requests[0]
		if only.Name == "" && only.Weight == 0 && only.Path == "" && len(only.Headers) == 0 && only.Check == nil {
			out.Method, out.Body, out.Load.Requests = only.Method, only.Body, nil
		}
	}
	return out
}
