package sim

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"dyno/services/ledger/signing"
	"dyno/services/ledger/sim/chain"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
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

func TestStreamsAnnounceLedgers(t *testing.T) {
	s := start(t, small(Config{TipEvery: 20 * time.Millisecond}))
	d := overSocket(t, s)
	_, body, err := d.call("subscribe", `"streams":["ledger","validations"]`)
	if err != nil {
		t.Fatal(err)
	}
	last := parse(t, body).Index
	if last < chain.DefaultFirst+5 {
		t.Fatalf("subscribe says %s", body)
	}
	list, err := trust.ParseValidators(s.Chain().UNL(), xrpl.Hex(s.Chain().Publisher()))
	if err != nil {
		t.Fatal(err)
	}
	quorum, err := trust.NewQuorum(list)
	if err != nil {
		t.Fatal(err)
	}
	votes := map[string]map[string]bool{} // by ledger, the master keys of its validations
	for closed := 0; closed < 3; {
		m := d.next()
		switch m.Type {
		case "validationReceived":
			if votes[m.Hash] == nil {
				votes[m.Hash] = map[string]bool{}
			}
			votes[m.Hash][m.Master] = true
			checkVote(t, m, quorum, len(votes[m.Hash]))
		case "ledgerClosed":
			closed++
			index := uint32(m.Index.(float64))
			l := ledger(t, s.Chain(), index)
			if m.Hash != l.Hash.String() || m.Count != 5 || m.Validated == "" {
				t.Errorf("%+v", m)
			}
			if len(votes[m.Hash]) != chain.DefaultValidators {
				t.Errorf("ledger %d: validated by %v", index, votes[m.Hash])
			}
			if index > last+1 {
				t.Errorf("ledger %d comes after %d", index, last)
			}
			last = max(last, index)
		}
	}
}

// checkVote compares a message with the validation in it, which is the n-th for its ledger: the
// fourth of five makes a quorum.
func checkVote(t *testing.T, m streamed, quorum *trust.Quorum, n int) {
	t.Helper()
	data, err := hex.DecodeString(m.Data)
	if err != nil {
		t.Fatal(err)
	}
	v, err := signing.ParseValidation(data)
	if err != nil {
		t.Fatal(err)
	}
	if v.Ledger.String() != m.Hash || !v.Full || !m.Full || xrpl.FormatNodeKey(v.Key) != m.Key || !strings.HasSuffix(m.Data, m.Signature) {
		t.Errorf("%+v differs from the validation in it", m)
	}
	anchor, reached, err := quorum.Add(data)
	if err != nil || reached != (n >= 4) || reached && anchor.Hash != v.Ledger {
		t.Errorf("validation %d of ledger %s: quorum %v, %v, %v", n, m.Index, anchor, reached, err)
	}
}

// A connection that has unsubscribed receives no more messages, and one that subscribed to one
// stream receives only that.
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
	if err != nil {
		t.Fatal(err)
	}
	if list, err := trust.ParseValidators(b, xrpl.Hex(s.Chain().Publisher())); err != nil || len(list.Validators) != chain.DefaultValidators {
		t.Errorf("%s: %+v, %v", b, list, err)
	}
}
