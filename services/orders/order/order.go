// Package order is what the gateway's parts tell one another of orders: the row that is queried, the submission
// that makes one, and what can go wrong with either. It is not for storing, encoding or checking them.
package order

import (
	"errors"
	"slices"
	"strconv"
	"time"
)

// Order is a row as it was committed at one moment.
type Order struct {
	UID       int64
	Account   string
	Symbol    string
	Side      Side
	Status    Status
	Price     Decimal // of one unit; 0: at the market's
	Qty       Decimal
	Filled    Decimal // of Qty
	Version   int64   // 1 when it is made, one more with each change
	UpdatedAt time.Time
}

// SeedAccount is whose the i-th made-up order is, from 1 on: "A1" to "A<accounts>", in turn.
func SeedAccount(i int64, accounts int) string {
	return "A" + strconv.FormatInt(1+(i-1)%int64(accounts), 10)
}

// Side is what an order does.
type Side uint8

// The sides. Pay is what a payment order (pacs.008) does: its symbol is the currency, its quantity the amount.
const (
	Buy Side = iota + 1
	Sell
	Pay
)

var sides = [...]string{Buy: "BUY", Sell: "SELL", Pay: "PAY"}

// String gives the side as answers spell it.
func (s Side) String() string { return name(sides[:], int(s)) }

// Status is how far an order has come.
type Status uint8

// The states. Filled and Cancelled are terminal: the database refuses to change such an order.
const (
	New Status = iota + 1
	PartiallyFilled
	Filled
	Cancelled
)

var statuses = [...]string{New: "NEW", PartiallyFilled: "PARTIALLY_FILLED", Filled: "FILLED", Cancelled: "CANCELLED"}

// String gives the state as answers spell it.
func (s Status) String() string { return name(statuses[:], int(s)) }

// ParseStatus reads what String wrote.
func ParseStatus(text string) (Status, bool) {
	i := slices.Index(statuses[:], text)
	return Status(max(i, 0)), i > 0
}

// Terminal reports whether the order never changes again.
func (s Status) Terminal() bool { return s == Filled || s == Cancelled }

func name(names []string, i int) string {
	if i <= 0 || i >= len(names) {
		return "UNKNOWN"
	}
	return names[i]
}

// Filter says which of an account's orders are wanted, the newest first.
type Filter struct {
	Account string
	Status  Status // 0: any
	Before  int64  // only uids below it; 0: from the newest on
	Limit   int    // at least 1
}

// Page is a part of an account's orders.
type Page struct {
	Orders []Order
	Next   int64 // Before of the next page; 0: this is the last
}

// Kind is the format that a submission came in.
type Kind uint8

// The formats.
const (
	JSON Kind = iota + 1
	Pacs008
	FIX
)

var kinds = [...]string{JSON: "json", Pacs008: "pacs.008", FIX: "fix"}

// String names the format.
func (k Kind) String() string { return name(kinds[:], int(k)) }

// Submission is a message that asks for an order, checked.
type Submission struct {
	Account       string // whose order it is to be, as the message says; "": the caller's
	ClientOrderID string // unique within the account: what makes it idempotent
	Symbol        string
	Side          Side
	Price         Decimal // 0: at the market's
	Qty           Decimal
	Kind          Kind
	Message       []byte // as it came; for the audit
}

// Receipt is what became of a submission.
type Receipt struct {
	Order     Order
	Duplicate bool // it had been accepted before; this is the order that it made then, as it is now
}

// What can go wrong. Errors wrap one of these.
var (
	ErrNotFound = errors.New("no such order")

	// ErrUnavailable: the database does not answer, or not in time. Nothing is known of what was asked; the
	// same submission can be sent again.
	ErrUnavailable = errors.New("the database does not answer")

	// ErrConflict: the account has used the client order id for another order.
	ErrConflict = errors.New("the client order id was used for another order")

	// ErrBusy: too many wait already.
	ErrBusy = errors.New("too many requests wait")
)
