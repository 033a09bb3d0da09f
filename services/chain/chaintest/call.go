package chaintest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"dyno/parts/servicetest"
)

// Request is a call of JSON-RPC 2.0.
type Request struct {
	Version string `json:"jsonrpc"`
	ID      any    `json:"id"`
	Method  string `json:"method"`
	Params  []any  `json:"params"`
}

// Answer is the answer to a call.
type Answer struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *Error          `json:"error"`
}

// Error is what a program says when it refuses a call.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *Error) Error() string { return fmt.Sprintf("%d %s", e.Code, e.Message) }

// Reply is what the program answered over HTTP.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

func (r Reply) String() string { return fmt.Sprintf("%d %v %.2000q", r.Status, r.Header, r.Body) }

// Call makes a request.
func Call(id any, method string, params ...any) Request {
	if params == nil {
		params = []any{}
	}
	return Request{"2.0", id, method, params}
}

// TryPost sends a body of JSON; an error when there is no answer.
func (c *Client) TryPost(body string, header map[string]string) (r Reply, err error) {
	all := http.Header{"Content-Type": {"application/json"}}
	for name, value := range header {
		all.Set(name, value)
	}
	resp, data, err := servicetest.Exchange(c.http, http.MethodPost, c.Program.URL+"/", body, all)
	if err != nil {
		return r, err
	}
	return Reply{resp.StatusCode, resp.Header, data}, nil
}

// Post sends a body of JSON.
func (c *Client) Post(body string) Reply {
	c.T.Helper()
	r, err := c.TryPost(body, nil)
	if err != nil {
		c.T.Fatalf("%.200s: %v", body, err)
	}
	return r
}

// Try calls a method, and decodes the result into v: an *Error when the program refuses the call.
func (c *Client) Try(v any, method string, params ...any) error {
	r, err := c.TryPost(text(Call(1, method, params...)), nil)
	if err != nil {
		return err
	}
	var a Answer
	if err := json.Unmarshal(r.Body, &a); err != nil || r.Status != http.StatusOK || a.Version != "2.0" || string(a.ID) != "1" {
		return fmt.Errorf("%s is answered by %s: %v", method, r, err)
	}
	return a.Into(v)
}

// Into decodes the result, or returns the error.
func (a Answer) Into(v any) error {
	switch {
	case a.Error != nil:
		return a.Error
	case v == nil:
		return nil
	}
	return json.Unmarshal(a.Result, v)
}

// Get calls a method that must succeed.
func Get[T any](c *Client, method string, params ...any) (v T) {
	c.T.Helper()
	if err := c.Try(&v, method, params...); err != nil {
		c.T.Fatalf("%s %v: %v", method, params, err)
	}
	return v
}

// Array sends calls together; their answers have the order of the calls.
func (c *Client) Array(calls ...Request) []Answer {
	c.T.Helper()
	r := c.Post(text(calls))
	var all []Answer
	if err := json.Unmarshal(r.Body, &all); err != nil || len(all) != len(calls) {
		c.T.Fatalf("%d calls are answered by %s: %v", len(calls), r, err)
	}
	for i, a := range all {
		if want := text(calls[i].ID); !bytes.Equal(a.ID, []byte(want)) || a.Version != "2.0" {
			c.T.Fatalf("answer %d has id %s, want %s", i, a.ID, want)
		}
	}
	return all
}

// Refused checks that a call was refused with a code and words.
func (c *Client) Refused(err error, code int, words ...string) {
	c.T.Helper()
	refused, ok := err.(*Error)
	if !ok {
		c.T.Fatalf("%v, want error %d %q", err, code, words)
	}
	for _, w := range words {
		if strings.Contains(refused.Message, w) && refused.Code == code {
			return
		}
	}
	c.T.Fatalf("%v, want error %d with one of %q", err, code, words)
}

func text(v any) string {
	all, err := json.Marshal(v)
	if err != nil {
		panic(err) // a test made what is no JSON
	}
	return string(all)
}
