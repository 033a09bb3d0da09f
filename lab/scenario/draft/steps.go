package draft

import (
	"time"

	"go.yaml.in/yaml/v3"
)

// Step is a request of a flow.
type Step struct {
	Class // without a weight
	Think time.Duration
	Save  []Save
}

// Save is a value for later steps; From is json, header, cookie or matches.
type Save struct{ Name, From, What string }

// Check is what an answer must have; the zero Check is not written.
type Check struct {
	Status []int
}

func (c *Check) mapping() (m mapping) {
	if len(c.Status) > 0 {
		m.list("status", c.Status)
	}
	return m
}

func (s *Step) mapping() (m mapping) {
	m = s.Class.mapping()
	if s.Think > 0 {
		m.add("think", s.Think.String(), "")
	}
	var save mapping
	for _, v := range s.Save {
		var from mapping
		from.always(v.From, v.What)
		n := from.node()
		n.Style = yaml.FlowStyle
		save.put(v.Name, n, "")
	}
	m.child("save", save, "")
	return m
}
