package ethnodes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"dyno/parts/process"
)

// Served is a node that answers. One goroutine asks it.
type Served struct {
	Node

	process *process.Process
	url     string
	client  http.Client
}

// maxAnswer bounds an answer, in bytes; the nodes' own bounds are 25 million.
const maxAnswer = 64 << 20

// Answer is an answer of JSON-RPC: one of the two.
type Answer struct {
	Result json.RawMessage
	Error  *Error
}

// Error is the error of an answer.
type Error struct {
	Code    int
	Message string
	Data    json.RawMessage
}

// Body is the request of a call. The parameters must be able to be JSON.
func Body(method string, params ...any) []byte {
	if params == nil {
		params = []any{}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		panic(err) // they are made by the programs
	}
	return body
}

// TooLarge is the result, as JSON, of an answer that is not read to its end.
const TooLarge = `"too large"`

// Post sends a request that Body made, and returns the answer.
func (s *Served) Post(ctx context.Context, body []byte) (a Answer, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	request.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(request)
	if err != nil {
		return a, fmt.Errorf("asking %s: %w", s.Name, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err == nil && len(text) > maxAnswer {
		return Answer{Result: json.RawMessage(TooLarge)}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		err = fmt.Errorf("the answer of %s to %.300s: %w: %.300s", s.Name, body, err, text)
	}
	return a, err
}

// Call sends a call, and reads its result into out; an error of the node is an error.
func (s *Served) Call(ctx context.Context, out any, method string, params ...any) error {
	a, err := s.Post(ctx, Body(method, params...))
	if err == nil && a.Error != nil {
		err = fmt.Errorf("%s: %s: error %d: %s", s.Name, method, a.Error.Code, a.Error.Message)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(a.Result, out)
}
