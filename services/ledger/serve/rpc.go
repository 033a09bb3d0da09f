package serve

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"

	"dyno/services/ledger/xrpl/answer"
)

// maxBody is the limit of a request's body, in bytes: rippled's own.
const maxBody = 1_000_000

// request is a JSON-RPC request in rippled's form: params hold one object or nothing.
type request struct {
	Method json.RawMessage `json:"method"`
	Params json.RawMessage `json:"params"`
	ID     json.RawMessage `json:"id"`
}

type call struct {
	method  string
	params  params
	version int             // of the API
	id      json.RawMessage // nil: none
}

// methods return a result, complete with its status.
var methods = map[string]func(*Server, context.Context, *call) ([]byte, error){
	"ledger":      (*Server).ledger,
	"tx":          (*Server).transaction,
	"account_tx":  (*Server).accountTransactions,
	"server_info": (*Server).info,
	"ping":        func(*Server, context.Context, *call) ([]byte, error) { return []byte(`{"status":"success"}`), nil },
}

func (s *Server) rpc(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		http.Error(w, "Unable to parse request: it has more than "+strconv.Itoa(maxBody)+" bytes", http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		http.Error(w, "Unable to parse request: "+err.Error(), http.StatusBadRequest)
		return
	}
	c, err := parseCall(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	result, err := s.do(r.Context(), c)
	if err != nil {
		result = failed(s.fault(c, err), c)
	}
	reply(w, result, c.id)
}

func (s *Server) do(ctx context.Context, c *call) ([]byte, error) {
	method, ok := methods[c.method]
	if !ok {
		return nil, answer.ErrUnknownMethod
	}
	return method(s, ctx, c)
}

// fault is the fault for an error; an internal error is logged as well.
func (s *Server) fault(c *call, err error) *answer.Error {
	f := explain(err, answer.ErrLedgerNotFound)
	if f == answer.ErrInternal {
		s.config.Log.Error("a query failed", "method", c.method, "error", err)
	}
	return f
}

// parseCall reads a request. Its errors are answered with status 400, in rippled's words.
func parseCall(body []byte) (*call, error) {
	var req *request
	if err := json.Unmarshal(body, &req); err != nil || req == nil {
		return nil, errors.New("Unable to parse request: want a JSON object") //lint:ignore ST1005 rippled's words
	}
	c := &call{version: 1, id: req.ID}
	if isNull(req.Method) {
		return nil, errors.New("Null method") //lint:ignore ST1005 rippled's words
	}
	if json.Unmarshal(req.Method, &c.method) != nil {
		return nil, errors.New("method is not string")
	}
	if c.method == "" {
		return nil, errors.New("method is empty")
	}
	if !isNull(req.Params) {
		var list []params
		if json.Unmarshal(req.Params, &list) != nil || len(list) > 1 {
			return nil, errors.New("params unparsable")
		}
		if len(list) == 1 {
			c.params = list[0]
		}
	}
	if id, ok := c.params["id"]; ok {
		c.id = id
	}
	return c, c.parseVersion()
}

// parseVersion reads api_version; the default is 1.
func (c *call) parseVersion() error {
	raw, ok := c.params["api_version"]
	if !ok {
		return nil
	}
	if json.Unmarshal(raw, &c.version) != nil || c.version < 1 || c.version > 2 {
		return errors.New("invalid_API_version")
	}
	return nil
}

// failed is the result of a failed call: the fault and the request as received.
func failed(f *answer.Error, c *call) []byte {
	request := c.echo()
	request["command"], _ = json.Marshal(c.method)
	result := f.Members()
	result["request"], result["status"] = request, "error"
	return encode(result)
}

func (c *call) echo() map[string]json.RawMessage {
	request := map[string]json.RawMessage{}
	for name, v := range c.params {
		request[name] = v
	}
	for _, secret := range []string{"passphrase", "secret", "seed", "seed_hex"} {
		if _, ok := request[secret]; ok {
			request[secret] = json.RawMessage(`"<masked>"`)
		}
	}
	return request
}

// encode writes a result; encoding/json sorts the members, as rippled does. It cannot fail.
func encode(result map[string]any) []byte {
	b, err := json.Marshal(result)
	if err != nil {
		return []byte(`{"error":"internal","error_code":73,"error_message":"Internal error.","status":"error"}`)
	}
	return b
}

// reply sends a result in rippled's envelope, with the request's id if there is one.
func reply(w http.ResponseWriter, result []byte, id json.RawMessage) {
	head, tail := `{"result":`, "}"
	if id != nil {
		head = `{"id":` + string(id) + `,"result":`
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(head)+len(result)+len(tail)))
	// A write fails only if the client has disconnected.
	_, _ = io.WriteString(w, head)
	_, _ = w.Write(result)
	_, _ = io.WriteString(w, tail)
}
