package otlp

import (
	"encoding/json"
	"net/http"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is an answer. The generated types would bring in gRPC for three fields.
type message interface{ protobuf() []byte }

// response is an ExportTraceServiceResponse.
type response struct {
	Partial *partialSuccess `json:"partialSuccess,omitempty"` // nil: every span was accepted
}

type partialSuccess struct {
	Rejected int64  `json:"rejectedSpans,string"`
	Message  string `json:"errorMessage"`
}

func (r response) protobuf() []byte {
	if r.Partial == nil {
		return nil
	}
	in := protowire.AppendTag(nil, 1, protowire.VarintType)
	in = protowire.AppendVarint(in, uint64(r.Partial.Rejected))
	in = protowire.AppendTag(in, 2, protowire.BytesType)
	in = protowire.AppendString(in, r.Partial.Message)
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), in)
}

// status is a google.rpc.Status, the body of an error. It has no code, as the protocol permits: the
// HTTP status has it.
type status struct {
	Message string `json:"message"`
}

func (s status) protobuf() []byte {
	return protowire.AppendString(protowire.AppendTag(nil, 2, protowire.BytesType), s.Message)
}

func reply(w http.ResponseWriter, kind string, code int, m message) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(code)
	if kind == kindJSON {
		json.NewEncoder(w).Encode(m) // an error means that the sender has gone
		return
	}
	w.Write(m.protobuf())
}
