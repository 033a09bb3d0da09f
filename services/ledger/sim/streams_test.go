package sim

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"slices"
	"testing"
	"time"

	"dyno/parts/xrpl"
)

// streamed is a message of a stream.
type streamed struct {
	Type      string `json:"type"`
	Hash      string `json:"ledger_hash"`
	Index     any    `json:"ledger_index"` // a string in validations, as from rippled
	Time      uint32 `json:"ledger_time"`
	Count     int    `json:"txn_count"`
	Validated string `json:"validated_ledgers"`
	Data      string `json:"data"`
	Master    string `json:"master_key"`
	Key       string `json:"validation_public_key"`
	Signature string `json:"signature"`
	Full      bool   `json:"full"`
}

// next reads one message.
func (d dialled) next() (m streamed) {
	d.t.Helper()
	_, b, err := d.conn.Read(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	if err := json.Unmarshal(b, &m); err != nil {
		d.t.Fatalf("%v in %s", err, b)
	}
	return m
}

func TestStreamsTellOfNewLedgers(t *testing.T) {
	s := start(t, small(Config{TipEvery: 20 * time.Millisecond}))
	d := overSocket(t, s)
	_, body, err := d.call("subscribe", `"streams":["ledger","validations"]`)
	if err != nil {
		t.Fatal(err)
	}
	last := parse(t, body).Index
	if last < defaultFirst+5 {
		t.Fatalf("subscribe says %s", body)
	}
	validators := validatorsOf(t, s.Chain().UNL())
	votes := map[string][]string{} // by ledger hash, the master keys of full validations
	for closed := 0; closed < 3; {
		m := d.next()
		switch m.Type {
		case "validationReceived":
			votes[m.Hash] = append(votes[m.Hash], checkVote(t, m))
		case "ledgerClosed":
			closed++
			index := uint32(m.Index.(float64))
			l := ledger(t, s.Chain(), index)
			if m.Hash != l.Hash.String() || m.Count != 5 || m.Validated == "" {
				t.Errorf("%+v", m)
			}
			if got := votes[m.Hash]; len(got) != 5 || !slices.Equal(slices.Sorted(slices.Values(got)), validators) {
				t.Errorf("ledger %d: validated by %v", index, got)
			}
			if index > last+1 {
				t.Errorf("ledger %d comes after %d", index, last)
			}
			last = max(last, index)
		}
	}
}

// checkVote holds a message against the validation in it, and returns the validator's master key.
func checkVote(t *testing.T, m streamed) string {
	t.Helper()
	data, err := hex.DecodeString(m.Data)
	if err != nil {
		t.Fatal(err)
	}
	v, err := xrpl.ParseValidation(data)
	if err != nil {
		t.Fatal(err)
	}
	key, err := xrpl.ParseNodeKey(m.Key)
	if err != nil {
		t.Fatal(err)
	}
	if v.Ledger.String() != m.Hash || !v.Full || !m.Full || string(key) != string(v.Key) {
		t.Errorf("%+v says another thing than the validation in it", m)
	}
	return m.Master
}

// validatorsOf reads a published list as a client does and returns the master keys in it, sorted.
func validatorsOf(t *testing.T, list []byte) (keys []string) {
	t.Helper()
	var outer struct{ PublicKey, Manifest, Blob, Signature string }
	var raw map[string]any
	if err := json.Unmarshal(list, &raw); err != nil {
		t.Fatal(err)
	}
	outer.PublicKey, _ = raw["public_key"].(string)
	outer.Manifest, _ = raw["manifest"].(string)
	outer.Blob, _ = raw["blob"].(string)
	outer.Signature, _ = raw["signature"].(string)
	publisher := manifest(t, outer.Manifest)
	blob, _ := base64.StdEncoding.DecodeString(outer.Blob)
	signature, _ := hex.DecodeString(outer.Signature)
	if upper(publisher.Master) != outer.PublicKey || !(xrpl.Pure{}).Check(publisher.Key, blob, signature) {
		t.Fatalf("the list is not signed by its publisher: %s", list)
	}
	var inner struct {
		Validators []struct {
			Key      string `json:"validation_public_key"`
			Manifest string `json:"manifest"`
		} `json:"validators"`
	}
	if err := json.Unmarshal(blob, &inner); err != nil {
		t.Fatal(err)
	}
	for _, v := range inner.Validators {
		m := manifest(t, v.Manifest)
		if upper(m.Master) != v.Key {
			t.Errorf("the manifest of %s is another one's", v.Key)
		}
		keys = append(keys, xrpl.FormatNodeKey(m.Master))
	}
	slices.Sort(keys)
	return keys
}

func manifest(t *testing.T, text string) xrpl.Manifest {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	m, err := xrpl.ParseManifest(b)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Who has unsubscribed hears nothing more, and who subscribed to one stream hears that one.
func TestUnsubscribe(t *testing.T) {
	s := start(t, small(Config{}))
	both, one := overSocket(t, s), overSocket(t, s)
	for _, c := range []struct {
		from            dialled
		method, streams string
	}{{both, "subscribe", `"ledger","validations"`}, {one, "subscribe", `"ledger"`}, {both, "unsubscribe", `"ledger","validations"`}} {
		if _, body, err := c.from.call(c.method, `"streams":[`+c.streams+`]`); err != nil || parse(t, body).Status != "success" {
			t.Fatalf("%s, %v", body, err)
		}
	}
	index, err := s.Chain().Grow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if m := one.next(); m.Type != "ledgerClosed" || m.Index != float64(index) {
		t.Errorf("%+v", m)
	}
	if _, body, err := both.call("ping", ""); err != nil || !json.Valid(body) || parse(t, body).Status != "success" {
		t.Errorf("after unsubscribing came %s, %v", body, err)
	}
}

func TestServesTheList(t *testing.T) {
	s := start(t, small(Config{}))
	a, err := overHTTP(t, s).client.Get(s.URL() + "/unl")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil || len(validatorsOf(t, b)) != defaultValidators {
		t.Errorf("%s, %v", b, err)
	}
	if len(s.Chain().Publisher()) != 33 {
		t.Error("no publisher")
	}
}
