package main

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"regexp"

	"dyno/parts/mediatype"
)

// submission is a message that asks for an order.
type submission struct {
	Account       string // "": the caller's
	ClientOrderID string
	Symbol        string
	Side          side
	Price         decimal // 0: at the market's
	Qty           decimal
	message       []byte
}

// receipt is the answer to a submission.
type receipt struct {
	UID           int64  `json:"uid"`
	ClientOrderID string `json:"client_order_id"`
	Status        status `json:"status"`
	Version       int64  `json:"version"`
	Duplicate     bool   `json:"duplicate,omitempty"`
}

const auditJSON = 1 // the audit's number of the format

// submit answers POST /api/v1/submit.
func (s *server) submit(w http.ResponseWriter, r *http.Request, account string) error {
	m, err := readMessage(w, r)
	if err != nil {
		return err
	}
	if m.Account == "" {
		m.Account = account
	}
	if m.Account != account {
		return refuse(http.StatusForbidden, "the message is for another account than the token")
	}
	made, err := s.store(r.Context(), m)
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if made.Duplicate {
		status = http.StatusOK
	}
	answer(w, status, made)
	return nil
}

func readMessage(w http.ResponseWriter, r *http.Request) (m submission, err error) {
	if kinds := r.Header["Content-Type"]; len(kinds) != 1 || !mediatype.IsJSON(kinds[0]) {
		return m, refuse(http.StatusUnsupportedMediaType, "send application/json")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return m, refuse(http.StatusRequestEntityTooLarge, "a message has at most %d bytes", maxMessage)
	case err != nil:
		return m, refuse(http.StatusBadRequest, "the body ended early or came too slowly")
	}
	if m, err = readJSON(body); err != nil {
		return m, err
	}
	m.message = body
	return m, m.check()
}

var (
	ids     = regexp.MustCompile(`^[ -~]{1,64}$`)
	symbols = regexp.MustCompile(`^[A-Z0-9./_-]{1,32}$`)
)

// check holds the fields to their forms.
func (m *submission) check() error {
	switch {
	case !ids.MatchString(m.ClientOrderID):
		return refuseField("client_order_id", "give 1 to 64 printable ASCII characters")
	case m.Account != "" && !accounts.MatchString(m.Account):
		return refuseField("account", "give at most 64 letters, digits and . _ : -")
	case !symbols.MatchString(m.Symbol):
		return refuseField("symbol", "give 1 to 32 of A-Z, 0-9 and . / _ -")
	case m.Qty <= 0:
		return refuseField("qty", "give a number above 0")
	}
	return nil
}

// digest identifies the content of a submission. It is the same as ordersd's, so that both can
// serve one database.
func (m *submission) digest() []byte {
	var b []byte
	for _, text := range []string{m.Account, m.ClientOrderID, m.Symbol} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	b = append(b, byte(m.Side))
	b = binary.BigEndian.AppendUint64(b, uint64(m.Price))
	b = binary.BigEndian.AppendUint64(b, uint64(m.Qty))
	sum := sha256.Sum256(b)
	return sum[:]
}
