// Package order defines the gateway's domain types: the order that is queried, the submission that
// creates one, and their errors. It is not for storing, encoding or parsing them.
package order

import (
	"errors"
	"slices"
	"strconv"
	"time"
)

// Order is the state of a row that was committed at one moment.
type Order struct {
	UID       int64
	Account   string
	Symbol    string
	Side      Side
	Status    Status
	Price     Decimal // per unit; 0 means at the market's price
	Qty       Decimal
	Filled    Decimal // part of Qty
	Version   int64   // 1 when created, incremented with each change
	UpdatedAt time.Time
}

// SeedAccount returns the account of the i-th seed order (from 1): "A1" to "A<accounts>", in turn.
func SeedAccount(i int64, accounts int) string {
	return "A" + strconv.FormatInt(1+(i-1)%int64(accounts), 10)
}

// Side is the direction of an order.
type Side uint8

// The sides. Pay is for payments (pacs.008): the symbol is the currency, the quantity the amount.
const (
	Buy Side = iota + 1
	Sell
	Pay
)

var sides = [...]string{Buy: "BUY", Sell: "SELL", Pay: "PAY"}

// String returns the side's name in answers.
func (s Side) String() string { return name(sides[:], int(s)) }

// Status is the state of an order.
type Status uint8

// The states. Filled and Cancelled are terminal: the database refuses to change such an order.
const (
	New Status = iota + 1
	PartiallyFilled
	Filled
	Cancelled
)

var statuses = [...]string{New: "NEW", PartiallyFilled: "PARTIALLY_FILLED", Filled: "FILLED", Cancelled: "CANCELLED"}

// String returns the state's name in answers.
func (s Status) String() string { return name(statuses[:], int(s)) }

// ParseStatus parses the result of String.
func ParseStatus(text string) (Status, bool) {
	i := slices.Index(statuses[:], text)
	return Status(max(i, 0)), i > 0
}

func name(names []string, i int) string {
	if i <= 0 || i >= len(names) {
		return "UNKNOWN"
	}
	return names[i]
}

// Filter selects an account's orders, newest first.
type Filter struct {
	Account string
	Status  Status // 0 means any
	Before  int64  // only uids below it; 0 means from the newest on
	Limit   int    // at least 1
}

// Page is a part of an account's orders.
type Page struct {
	Orders []Order
	Next   int64 // Before of the next page; 0 means that this is the last
}

// Kind is the format of a submission.
type Kind uint8

// The formats.
const (
	JSON Kind = iota + 1
	Pacs008
	FIX
)

var kinds = [...]string{JSON: "json", Pacs008: "pacs.008", FIX: "fix"}

// String returns the format's name.
func (k Kind) String() string { return name(kinds[:], int(k)) }

// Submission is a checked message that requests an order.
type Submission struct {
	Account       string // owner of the order, from the message; "" means the caller
	ClientOrderID string // unique within the account: makes submissions idempotent
	Symbol        string
	Side          Side
	Price         Decimal // 0 means at the market's price
	Qty           Decimal
	Kind          Kind
	Message       []byte // as received, for the audit
}

// Receipt is the result of a submission.
type Receipt struct {
	Order     Order
	Duplicate bool // an earlier submission created this order, shown in its current state
}

// Errors of the gateway. Returned errors wrap one of these.
var (
	ErrNotFound = errors.New("no such order")

	// ErrUnavailable: no answer from the database in time. The submission can be sent again.
	ErrUnavailable = errors.New("the database does not answer")

	// ErrRefused: the database answers, and lets the gateway in for nothing until a person changes the
	// settings of either.
	ErrRefused = errors.New("the database refuses the gateway")

	// ErrConflict: the account has used the client order id for another order.
	ErrConflict = errors.New("the client order id was used for another order")

	// ErrBusy: the queue is full.
	ErrBusy = errors.New("too many requests wait")
)
