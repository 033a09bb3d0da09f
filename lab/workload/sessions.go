package workload

// Session describes connections that stay open: Load's URL and Headers open them. Its texts are
// templates with ${session} (the session's index, from 0), ${offer} (the number of the message in
// its session, from 1), ${run} and ${row.NAME}, in addition to the fields of ready lines. A session
// has the row with its index; with Load.Once, in Send, each message has the next row.
type Session struct {
	Numbers    []int   `yaml:"-" json:"numbers,omitempty"`                               // that are tried; empty: a search for the highest
	PerSession float64 `yaml:"per_session,omitempty" json:"per_session_per_s,omitempty"` // messages of each session per second; 0: sessions only receive
	Open       Open    `yaml:"open,omitempty" json:"open,omitzero"`
	Send       *Send   `yaml:"send,omitempty" json:"send,omitempty"` // what a session sends at each time
	Expect     Expect  `yaml:"expect,omitempty" json:"expect,omitzero"`
}

// Numbers lists the numbers of sessions that the load states; nil: the lab searches for the
// highest, or the load is of another kind.
func (l *Load) Numbers() []int {
	if l.Sessions == nil {
		return nil
	}
	return l.Sessions.Numbers
}

// ReceiveOnly reports whether the load is sessions to which nothing is sent.
func (l *Load) ReceiveOnly() bool {
	return l.Sessions != nil && l.Sessions.PerSession == 0 && l.Driver == nil
}

// Open describes how a WebSocket is opened.
type Open struct {
	Subprotocols []string `yaml:"subprotocols,omitempty" json:"subprotocols,omitempty"`
	Messages     []string `yaml:"messages,omitempty" json:"messages,omitempty"` // sent once, as text
}

// Send describes what a session sends at each time: exactly one of Text and Base64 over a
// WebSocket. Next to a stream of events it is an HTTP request with the body Text.
type Send struct {
	Text    string            `yaml:"text,omitempty" json:"text,omitempty"`
	Base64  string            `yaml:"base64,omitempty" json:"base64,omitempty"` // a binary message without placeholders
	URL     string            `yaml:"url,omitempty" json:"url,omitempty"`
	Method  string            `yaml:"method,omitempty" json:"method,omitempty"` // default: POST
	Headers map[string]string `yaml:"headers,omitempty" json:"headers,omitempty"`
}

// Expect describes what a session receives.
type Expect struct {
	Frames Match `yaml:"frames,omitempty" json:"frames,omitzero"` // messages that count as frames; default: all
	Ack    *Ack  `yaml:"ack,omitempty" json:"ack,omitempty"`      // how a frame acknowledges what was sent, up to a number
}

// Match is a condition on a message. The zero Match holds for all.
type Match struct {
	Contains string `yaml:"contains,omitempty" json:"contains,omitempty"`
	Matches  string `yaml:"matches,omitempty" json:"matches,omitempty"` // a regular expression
}

// Ack is where a message holds the number of a message: exactly one field is set.
type Ack struct {
	JSON    string `yaml:"json,omitempty" json:"json,omitempty"`       // names joined by dots
	Matches string `yaml:"matches,omitempty" json:"matches,omitempty"` // a regular expression, whose first group is the number
	Any     bool   `yaml:"any,omitempty" json:"any,omitempty"`         // each frame acknowledges the next message that was sent
}

// SessionPlaceholder reports whether a session fills in a placeholder.
func SessionPlaceholder(name string) bool { return name == "session" || name == "offer" }
