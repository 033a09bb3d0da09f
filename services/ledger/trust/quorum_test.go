package trust

import (
	"errors"
	"testing"

	"dyno/services/ledger/signing"
	"dyno/services/ledger/xrpl"
)

// quorumOf counts for generated validators, named as in a published list.
func quorumOf(t testing.TB, all []validator) *Quorum {
	t.Helper()
	u := &ValidatorList{}
	for _, v := range all {
		u.Validators = append(u.Validators, Validator{v.master.Public(), v.manifest(1)})
	}
	q, err := NewQuorum(u)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func says(index uint32, hash byte) signing.Validation {
	return signing.Validation{Index: index, Ledger: xrpl.Hash{hash}, SignTime: 1, Full: true}
}

func TestQuorumIsFourFifths(t *testing.T) {
	for of, needed := range map[int]int{1: 1, 2: 2, 3: 3, 4: 4, 5: 4, 6: 5, 9: 8, 10: 8, 11: 9, 35: 28, 36: 29} {
		all := validators(of)
		q := quorumOf(t, all)
		for i, v := range all {
			anchor, reached, err := q.Add(says(5, 1).Sign(v.key))
			if err != nil || reached != (i+1 >= needed) {
				t.Fatalf("%d of %d validators: reached %v, %v", i+1, of, reached, err)
			}
			if want := (Anchor{5, xrpl.Hash{1}, i + 1, of}); reached && anchor != want {
				t.Errorf("%d of %d: %v, not %v", i+1, of, anchor, want)
			}
		}
		if q.Needed() != needed {
			t.Errorf("%d validators are needed of %d, not %d", q.Needed(), of, needed)
		}
	}
}

// Of five validators four have voted for ledger 5, except the last one; each case adds its vote.
func TestWhatCounts(t *testing.T) {
	all := validators(5)
	stranger := signing.NewKey([]byte("stranger"))
	last, partial, noIndex := says(5, 1), says(5, 1), says(0, 1)
	partial.Full = false
	flipped := last.Sign(all[3].key)
	flipped[20] ^= 1
	for _, c := range []struct {
		name    string
		bytes   []byte
		reached bool
		wrong   error
	}{
		{"the fourth", last.Sign(all[3].key), true, nil},
		{"the third again", last.Sign(all[2].key), false, nil},
		{"a stranger", last.Sign(stranger), false, nil},
		{"a master key, which no longer signs", last.Sign(all[3].master), false, nil},
		{"a partial validation", partial.Sign(all[3].key), false, nil},
		{"of another ledger", says(5, 2).Sign(all[3].key), false, nil},
		{"of another index", says(6, 1).Sign(all[3].key), false, nil},
		{"of no index", noIndex.Sign(all[3].key), false, nil},
		{"with a bit changed", flipped, false, signing.ErrSignature},
		{"of no bytes", nil, false, xrpl.ErrMalformed},
	} {
		q := quorumOf(t, all)
		for _, v := range all[:3] {
			if _, reached, err := q.Add(says(5, 1).Sign(v.key)); reached || err != nil {
				t.Fatal(reached, err)
			}
		}
		_, reached, err := q.Add(c.bytes)
		if reached != c.reached || !errors.Is(err, c.wrong) || c.wrong == nil && err != nil {
			t.Errorf("%s: reached %v, %v", c.name, reached, err)
		}
		if best := q.Best(); best.Index != 5 || best.Hash != (xrpl.Hash{1}) || best.Of != 5 {
			t.Errorf("%s: the best is %v", c.name, best)
		}
	}
}

func TestConflictIsAnError(t *testing.T) {
	all := validators(5)
	q := quorumOf(t, all)
	var err error
	for _, hash := range []byte{1, 2} {
		for _, v := range all[:4] {
			_, _, err = q.Add(says(5, hash).Sign(v.key))
		}
	}
	if !errors.Is(err, ErrConflict) {
		t.Errorf("two quorums: %v", err)
	}
	if _, reached, err := q.Add(says(6, 1).Sign(all[0].key)); reached || !errors.Is(err, ErrConflict) || !Final(err) {
		t.Errorf("afterwards: %v, %v", reached, err)
	}
}

// A newer manifest replaces an older one, never the other way round.
func TestManifests(t *testing.T) {
	v := validators(1)[0]
	q := quorumOf(t, []validator{v})
	newer := validator{v.master, signing.NewKey([]byte("newer"))}
	add := func(v validator) bool {
		_, reached, err := q.Add(says(5, 1).Sign(v.key))
		if err != nil {
			t.Fatal(err)
		}
		return reached
	}
	take := func(b []byte, want bool) {
		t.Helper()
		if known, err := q.Manifest(b); known != want || err != nil {
			t.Errorf("known %v, %v", known, err)
		}
	}
	if add(newer) || !add(v) {
		t.Error("before: the newer key counts, or the older one does not")
	}
	take(newer.manifest(2), true)
	take(v.manifest(1), true) // old
	if !add(newer) || add(v) {
		t.Error("after: the older key counts, or the newer one does not")
	}
	take(signing.SignManifest(v.master, nil, 0, ""), true)
	if add(newer) || add(v) {
		t.Error("a revoked validator counts")
	}
	take(newer.manifest(9), true)
	if add(newer) {
		t.Error("a revoked validator came back")
	}
	take(validators(2)[1].manifest(1), false)
	if _, err := q.Manifest([]byte{1}); err == nil {
		t.Error("broken bytes are a manifest")
	}
}

// No two validators may share a signing key: it would count twice.
func TestSharedKey(t *testing.T) {
	all := validators(2)
	q := quorumOf(t, all)
	if _, err := q.Manifest((validator{all[0].master, all[1].key}).manifest(5)); err == nil {
		t.Error("a validator took another's key")
	}
	u := &ValidatorList{Validators: []Validator{{all[0].master.Public(), all[1].manifest(1)}}}
	if _, err := NewQuorum(u); err == nil {
		t.Error("a list with the manifest of a stranger is good")
	}
	if _, err := NewQuorum(&ValidatorList{}); err == nil {
		t.Error("an empty list has a quorum")
	}
}

// A validator that votes for very many ledgers neither takes unbounded memory nor removes the
// others' votes.
func TestVotesAreBounded(t *testing.T) {
	all := validators(5)
	q := quorumOf(t, all)
	for _, v := range all[:3] {
		if _, _, err := q.Add(says(5, 1).Sign(v.key)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range uint32(2 * maxVotes) {
		if _, reached, err := q.Add(says(100+i, byte(i)).Sign(all[4].key)); reached || err != nil {
			t.Fatal(reached, err)
		}
	}
	if len(q.votes) > maxVotes+1 || len(q.signing) != 5 {
		t.Errorf("votes for %d ledgers are kept", len(q.votes))
	}
	if _, reached, err := q.Add(says(5, 1).Sign(all[3].key)); !reached || err != nil {
		t.Errorf("the quorum was lost: %v", err)
	}
}

// A published list and its quorum work together, as for a user.
func TestPublishedListCounts(t *testing.T) {
	all := validators(5)
	u, err := ParseValidators(publish(t, signing.NewKey([]byte("p")), signing.NewKey([]byte("k")), all, nil), "")
	if err != nil {
		t.Fatal(err)
	}
	q, err := NewQuorum(u)
	if err != nil {
		t.Fatal(err)
	}
	var reached bool
	for _, v := range all[:4] {
		if _, reached, err = q.Add(says(9, 3).Sign(v.key)); err != nil {
			t.Fatal(err)
		}
	}
	if !reached {
		t.Error("four of five validators of a published list are no quorum")
	}
}
