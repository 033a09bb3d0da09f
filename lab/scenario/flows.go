package scenario

import "time"

// FlowStep is one request of a flow. What it leaves out is the load's. Its texts are templates with
// the placeholders of requests and, as ${NAME}, the values that earlier steps saved.
type FlowStep struct {
	Name     string            `yaml:"name"`
	Method   string            `yaml:"method"`  // default: POST with a body, GET without
	Path     string            `yaml:"path"`    // path and query, on the host of Load.URL
	URL      string            `yaml:"url"`     // instead of Path: another host's
	Headers  map[string]string `yaml:"headers"` // added to the load's
	Body     string            `yaml:"body"`
	BodyFile string            `yaml:"body_file"`
	Check    *Check            `yaml:"check"`
	Follow   int               `yaml:"follow"` // 0: the load's
	Save     map[string]Save   `yaml:"save"`   // by the value's name
	Think    time.Duration     `yaml:"think"`  // pause between the answer before and this request
}

// Save is where an answer has a value: exactly one field is set.
type Save struct {
	JSON    string `yaml:"json"` // names joined by dots
	Header  string `yaml:"header"`
	Cookie  string `yaml:"cookie"`
	Matches string `yaml:"matches"` // a regular expression on the body, whose first group is the value
}

// OfFlows reports whether the load is flows of several requests.
func (s *Scenario) OfFlows() bool { return s.Load.Kind == Flows }

// OfGRPC reports whether the load is gRPC calls.
func (s *Scenario) OfGRPC() bool { return s.Load.Kind == GRPC }

// Thinking is the time that a flow pauses in all.
func (l *Load) Thinking() (sum time.Duration) {
	for i := range l.Steps {
		sum += l.Steps[i].Think
	}
	return sum
}
