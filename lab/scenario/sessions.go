package scenario

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// SessionLoad describes connections that stay open: Load's URL (ws, wss: a WebSocket; http, https:
// a stream of server-sent events) and Headers open them. Its texts are templates with ${session}
// (the session's index, from 0), ${offer} (the number of the offer in its session, from 1), ${run}
// and ${row.NAME}, in addition to the fields of ready lines. A session has the row with its index;
// with Load.Once, in Send, each offer has the next row.
type SessionLoad struct {
	Sessions   Numbers `yaml:"sessions"`    // numbers of sessions that are tried; empty: a search for the highest
	PerSession float64 `yaml:"per_session"` // offers of each session per second; 0: sessions only receive
	Open       Open    `yaml:"open"`
	Send       *Send   `yaml:"send"` // what an offer sends
	Expect     Expect  `yaml:"expect"`
	Driver     *Driver `yaml:"driver"` // a program that drives the sessions, instead of the fields above
}

// Open describes how a WebSocket is opened.
type Open struct {
	Subprotocols []string `yaml:"subprotocols"`
	Messages     []string `yaml:"messages"` // sent once, as text
}

// Send describes what an offer sends: exactly one of Text and Base64 over a WebSocket. Beside a
// stream of events it is an HTTP request with the body Text.
type Send struct {
	Text    string            `yaml:"text"`
	Base64  string            `yaml:"base64"` // a binary message without placeholders
	URL     string            `yaml:"url"`
	Method  string            `yaml:"method"` // default: POST
	Headers map[string]string `yaml:"headers"`
}

// Expect describes what a session receives.
type Expect struct {
	Frames Match `yaml:"frames"` // messages that count as frames; default: all
	Ack    *Ack  `yaml:"ack"`    // how a message acknowledges the offers up to a number
}

// Match is a condition on a message. The zero Match holds for all.
type Match struct {
	Contains string `yaml:"contains"`
	Matches  string `yaml:"matches"` // a regular expression
}

// Ack is where a message holds the number of an offer: exactly one field is set.
type Ack struct {
	JSON    string `yaml:"json"`    // names joined by dots
	Matches string `yaml:"matches"` // a regular expression, whose first group is the number
	Any     bool   `yaml:"any"`     // each frame acknowledges the next offer
}

// Driver is a program that drives sessions and prints windows, as a job does: exactly one of Build
// and Command is set. In its arguments ${sessions}, ${rate} (of each, per second), ${duration} and
// ${warmup} are those of the run.
type Driver struct {
	Build   string   `yaml:"build"`
	Command []string `yaml:"command"`
	Args    []string `yaml:"args"`
}

// DriverPlaceholders are the names without a field in a Driver's arguments.
func DriverPlaceholders() []string { return []string{"sessions", "rate", "duration", "warmup"} }

// Search is the word for the highest number that meets the SLO.
const Search = "search"

// Numbers is a number, a list of numbers, or Search, which gives none.
type Numbers []int

// UnmarshalYAML reads one of the forms.
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

// OfSessions reports whether the load is a number of sessions.
func (s *Scenario) OfSessions() bool { return s.Load.Kind == Sessions }

// Counted reports whether the load is a number, of concurrent units or of sessions, instead of a
// rate.
func (s *Scenario) Counted() bool { return s.ByConcurrency() || s.OfSessions() }

// sessionPlaceholders are those of a session's texts.
var sessionPlaceholders = []string{"session", "offer"}

// SessionPlaceholder reports whether a session fills in a placeholder.
func SessionPlaceholder(name string) bool { return slices.Contains(sessionPlaceholders, name) }
