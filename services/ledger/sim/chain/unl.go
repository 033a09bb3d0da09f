package chain

import (
	"encoding/base64"
	"encoding/json"
	"strconv"

	"dyno/services/ledger/signing"
	"dyno/services/ledger/xrpl"
)

// unl is the list of trusted validators, and its published form.
type unl struct {
	validators []validator
	publisher  []byte // its master key, 33 bytes
	list       []byte // JSON
}

// validator has a master key, which identifies it, and a key that it signs with.
type validator struct {
	master, key *signing.Key
	manifest    []byte
}

// Fields of the published list, in the format of XRPLF/rippled, app/misc/ValidatorList.h.
const (
	listSequence   = 2025010101
	listExpiration = 1_200_000_000 // seconds since 2000: in 2038
	manifestNumber = 1
)

func newUNL(seed uint64, n int) (*unl, error) {
	u := &unl{}
	type listed struct {
		Key      string `json:"validation_public_key"`
		Manifest string `json:"manifest"`
	}
	var blob struct {
		Sequence   int      `json:"sequence"`
		Expiration int      `json:"expiration"`
		Validators []listed `json:"validators"`
	}
	blob.Sequence, blob.Expiration = listSequence, listExpiration
	for i := range n {
		v := validator{master: newKey(seed, "validator", i, true), key: newKey(seed, "validation", i, false)}
		v.manifest = signing.SignManifest(v.master, v.key, manifestNumber, "")
		u.validators = append(u.validators, v)
		blob.Validators = append(blob.Validators, listed{xrpl.Hex(v.master.Public()), base64.StdEncoding.EncodeToString(v.manifest)})
	}
	inner, err := json.Marshal(blob)
	if err != nil {
		return nil, err
	}
	master, key := newKey(seed, "publisher", 0, true), newKey(seed, "publisher", 1, false)
	u.publisher = master.Public()
	u.list, err = json.Marshal(map[string]any{
		"version":    1,
		"public_key": xrpl.Hex(master.Public()),
		"manifest":   base64.StdEncoding.EncodeToString(signing.SignManifest(master, key, manifestNumber, "")),
		"blob":       base64.StdEncoding.EncodeToString(inner),
		"signature":  xrpl.Hex(key.Sign(inner)),
	})
	return u, err
}

// UNL is the list of validators in its published form, JSON; GET /unl of a Sim returns the same.
func (c *Chain) UNL() []byte { return c.unl.list }

// Publisher is the master key of the list's publisher, 33 bytes.
func (c *Chain) Publisher() []byte { return c.unl.publisher }

// Validators is the number of validators.
func (c *Chain) Validators() int { return len(c.unl.validators) }

// Quorum is how many validations make a ledger: 80%, rounded up.
func (c *Chain) Quorum() int { return (c.Validators()*4 + 4) / 5 }

// Validations are the messages of the stream validations for a ledger.
func (c *Chain) Validations(e *Entry) (all [][]byte) {
	h := e.Parsed()
	v := signing.Validation{Ledger: e.hash, Index: h.Index, SignTime: h.Close + 1, Full: true}
	for i := range c.unl.validators {
		one := validation{&c.unl.validators[i], v, v.Sign(c.unl.validators[i].key)}
		all = append(all, one.append(nil))
	}
	return all
}

type validation struct {
	by *validator
	signing.Validation
	data []byte
}

// append writes the stream's message, as rippled since 2.4, with the whole validation as data.
func (v *validation) append(b []byte) []byte {
	_, signature := cutSignature(v.data)
	b = xrpl.AppendHex(append(b, `{"type":"validationReceived","data":"`...), v.data)
	b = xrpl.AppendHex(append(b, `","flags":2147483649,"full":true,"ledger_hash":"`...), v.Ledger[:])
	b = strconv.AppendUint(append(b, `","ledger_index":"`...), uint64(v.Index), 10)
	b = append(append(b, `","master_key":"`...), xrpl.FormatNodeKey(v.by.master.Public())...)
	b = xrpl.AppendHex(append(b, `","signature":"`...), signature)
	b = strconv.AppendUint(append(b, `","signing_time":`...), uint64(v.SignTime), 10)
	b = append(append(b, `,"validation_public_key":"`...), xrpl.FormatNodeKey(v.by.key.Public())...)
	return append(b, `"}`...)
}

// cutSignature splits a generated validation: its signature is its last field.
func cutSignature(data []byte) (before, signature []byte) {
	_ = xrpl.Walk(data, func(f xrpl.Field) error {
		before, signature = data[:f.Start], data[f.ValueStart:f.End]
		return nil
	})
	return before, signature
}
