package response

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/tmthrgd/go-hex"

	"dyno/parts/refusal"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// Decoder reads an answer to `ledger` in binary, from rippled over either transport or from Clio,
// with both forms of a transaction (tx_blob and meta; tx_blob, meta_blob and hash). Several
// goroutines may use one.
type Decoder interface {
	// Decode fills an answer. Errors are *Error without a Server; the answer must not be used then.
	Decode(answer []byte, into *Answer) error
}

// Decoders are the decoders by their names.
func Decoders() map[string]Decoder {
	return map[string]Decoder{"json": jsonDecoder{}, "scan": scanDecoder{}}
}

// NewDecoder returns a decoder by its name; "" is scan.
func NewDecoder(name string) (Decoder, error) {
	if name == "" {
		name = "scan"
	}
	return refusal.Pick("decoder", Decoders(), name)
}

// object is the state of one of the objects that an answer may hold.
type object uint8

const (
	absent object = iota // or null
	present
	wrong // there is a value that is no object
)

// reply is what both decoders read from an answer. They share judge, so their results agree.
type reply struct {
	top, result, ledger object
	fault               [2]fault  // at the top, and in the result
	warning             [2]string // likewise
	index               [2]string // digits: in the result, and in the ledger
	hash                [2]string // hex: likewise
	validated, open     bool      // open: "closed" is there and not true
	header              bool      // ledger_data is there
	// Ledger_data is not hex; transactions are not a list of tx_blob and meta in hex.
	badHeader, badList bool
}

type fault struct {
	name    string
	code    string // digits
	message string
}

// faults are servers' names for errors; faultCodes are their codes. Clio and rippled share both.
var faults = map[string]Code{
	"slowDown": SlowDown, "tooBusy": Busy, "lgrNotFound": NotFound, "ledgerNotFound": NotFound,
	"lgrNotValidated": NotValidated,
	"noNetwork":       NotSynced, "notSynced": NotSynced, "noCurrent": NotSynced, "noClosed": NotSynced,
	"notReady": NotSynced, "amendmentBlocked": NotSynced, "unlBlocked": NotSynced,
	"internal": Busy, "dbDeserialization": Busy, "failedToForward": Busy,
}

var faultCodes = map[string]Code{
	"9": Busy, "10": SlowDown, "13": NotSynced, "14": NotSynced, "15": NotSynced, "16": NotSynced, "17": NotSynced,
	"18": NotSynced, "21": NotFound,
}

const maxMessage = 200

func (f fault) err() *Error {
	k, ok := faults[f.name]
	if !ok {
		k, ok = faultCodes[f.code]
	}
	if !ok {
		k = Refused
	}
	return Errorf(k, "%.*q (code %.20s): %.*q", maxMessage, f.name, f.code, maxMessage, f.message)
}

// judge returns the error of an answer, or fills in the fields that are not bytes.
func (r *reply) judge(into *Answer) error {
	switch {
	case r.top != present:
		return Errorf(Malformed, "the answer is not a JSON object")
	case r.fault[0] != fault{}:
		return r.fault[0].err()
	case r.fault[1] != fault{}:
		return r.fault[1].err()
	case r.result == wrong || r.ledger == wrong:
		return Errorf(Malformed, "the answer's result or ledger is not an object")
	case r.ledger == absent:
		return Errorf(Empty, "the answer has no ledger")
	case r.badList:
		return Errorf(Malformed, "transactions is not a list of tx_blob and meta in hex; was it asked for in binary?")
	case r.badHeader:
		return Errorf(Malformed, "ledger_data is not hex")
	case !r.header:
		return Errorf(Empty, "the answer's ledger has no ledger_data; was it asked for in binary?")
	case len(into.Header) != xrpl.HeaderSize:
		return Errorf(Malformed, "ledger_data has %d bytes, not %d", len(into.Header), xrpl.HeaderSize)
	}
	return r.fill(into)
}

func (r *reply) fill(into *Answer) error {
	var err error
	if into.Index, err = parseIndex(first(r.index)); err != nil {
		return err
	}
	if text := first(r.hash); text != "" {
		if into.Hash, err = xrpl.ParseHash(text); err != nil {
			return Errorf(Malformed, "ledger_hash: %v", err)
		}
	}
	if into.Index == 0 {
		into.Index = uint32(into.Header[0])<<24 | uint32(into.Header[1])<<16 | uint32(into.Header[2])<<8 | uint32(into.Header[3])
	}
	into.Validated = r.validated
	into.Warned = r.warning[0] == "load" || r.warning[1] == "load"
	if !r.validated || r.open {
		return Errorf(NotValidated, "ledger %d is not validated and closed", into.Index)
	}
	return nil
}

func first(texts [2]string) string {
	if texts[0] != "" {
		return texts[0]
	}
	return texts[1]
}

// parseIndex reads a ledger index, a number or a string of digits; 0 for "".
func parseIndex(text string) (uint32, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, Errorf(Malformed, "ledger_index %.30q is not a number below 2^32", text)
	}
	return uint32(n), nil
}

// reset makes room for an answer. Hex decodes into at most half of its bytes, so the memory does
// not move while it is filled.
func (a *Answer) reset(answer []byte) error {
	size := len(answer)
	if cap(a.memory) < size/2 {
		a.memory = make([]byte, 0, size/2)
	}
	*a = Answer{Bytes: size, memory: a.memory[:0], Ledger: xrpl.Ledger{Transactions: a.Transactions[:0]}}
	if len(bytes.TrimSpace(answer)) == 0 {
		return Errorf(Empty, "the answer has no bytes")
	}
	return nil
}

// unhex appends the bytes of hex digits to the answer's memory, which has room (see reset), and
// returns them. False means that they are no hex digits; the memory is unchanged then. An answer is
// nearly all hex: this library decodes it in a sixth of the time of encoding/hex (BenchmarkHex).
func (a *Answer) unhex(digits []byte) ([]byte, bool) {
	from, to := len(a.memory), len(a.memory)+len(digits)/2
	if to > cap(a.memory) {
		return nil, false
	}
	if _, err := hex.Decode(a.memory[from:to], digits); err != nil {
		return nil, false
	}
	a.memory = a.memory[:to]
	return a.memory[from:to:to], true
}

// DecodeInfo reads an answer to `server_info`. It is rare, so encoding/json is fast enough.
func DecodeInfo(answer []byte) (Info, error) {
	type faulty struct {
		Error   string      `json:"error"`
		Code    json.Number `json:"error_code"`
		Message string      `json:"error_message"`
	}
	type tip struct {
		Index uint32    `json:"seq"`
		Hash  xrpl.Hash `json:"-"`
		Text  string    `json:"hash"`
	}
	var a struct {
		faulty
		Result struct {
			faulty
			Info *struct {
				Complete  string          `json:"complete_ledgers"`
				State     string          `json:"server_state"`
				Validated *tip            `json:"validated_ledger"`
				Network   json.RawMessage `json:"network_id"`
			} `json:"info"`
		} `json:"result"`
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return Info{}, Errorf(Malformed, "server_info: %v", err)
	}
	for _, f := range []faulty{a.faulty, a.Result.faulty} {
		if f.Error != "" {
			return Info{}, fault{f.Error, f.Code.String(), f.Message}.err()
		}
	}
	info := a.Result.Info
	if info == nil {
		return Info{}, Errorf(Empty, "server_info: the answer has no info")
	}
	out := Info{Bytes: len(answer)}
	if json.Unmarshal(info.Network, &out.Network) != nil {
		out.Network = nil // it decides about nothing else
	}
	var err error
	if out.Complete, err = history.ParseSet(info.Complete); err != nil {
		return Info{}, Errorf(Malformed, "server_info: complete_ledgers: %.*s", maxMessage, err.Error())
	}
	if v := info.Validated; v != nil {
		out.Validated.Index = v.Index
		if out.Validated.Hash, err = xrpl.ParseHash(v.Text); err != nil {
			return Info{}, Errorf(Malformed, "server_info: validated_ledger: %v", err)
		}
		switch info.State {
		case "full", "proposing", "validating", "": // Clio has no state: it has validated ledgers or none
			out.Synced = true
		}
	}
	return out, nil
}
