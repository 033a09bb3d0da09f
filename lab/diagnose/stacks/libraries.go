package stacks

import (
	"slices"
	"strings"

	"dyno/lab/record"
)

// What functions of the standard library and of clients do for their caller.
var (
	// Dials open a connection to another process.
	Dials = Names{whole: set("net.(*Dialer).DialContext", "net.(*Dialer).Dial", "net.Dial", "net.DialTimeout",
		"net/http.(*Transport).dialConn", "net/http.(*Transport).dialConnFor", "database/sql.(*DB).openNewConnection")}
	// Dialers are the entries of goroutines that net/http starts to open a connection.
	Dialers = Names{whole: set("net/http.(*Transport).dialConnFor", "net/http.(*Transport).startDialConnForLocked")}
	// Prepares have the database parse a statement which is then used once.
	Prepares = Names{whole: set("database/sql.ctxDriverPrepare", "database/sql.(*DB).prepareDC", "github.com/jackc/pgx/v5.(*Conn).Prepare")}
	// Handshakes set up TLS; of these, ServerHandshakes for a client that connected.
	Handshakes = Names{whole: set("crypto/tls.(*Conn).handshakeContext", "crypto/tls.(*Conn).HandshakeContext",
		"crypto/tls.(*Conn).serverHandshake", "crypto/tls.(*Conn).clientHandshake")}
	ServerHandshakes = Names{whole: set("crypto/tls.(*Conn).serverHandshake"), prefix: []string{"crypto/tls.(*serverHandshakeState"}}
)

// withoutContext maps calls that take no context to the call of the same library that does.
var withoutContext = map[string]string{
	"database/sql.(*DB).Query": "QueryContext", "database/sql.(*DB).QueryRow": "QueryRowContext",
	"database/sql.(*DB).Exec": "ExecContext", "database/sql.(*DB).Begin": "BeginTx", "database/sql.(*DB).Prepare": "PrepareContext",
	"database/sql.(*DB).Ping":  "PingContext",
	"database/sql.(*Tx).Query": "QueryContext", "database/sql.(*Tx).QueryRow": "QueryRowContext", "database/sql.(*Tx).Exec": "ExecContext",
	"database/sql.(*Tx).Prepare": "PrepareContext",
	"database/sql.(*Stmt).Query": "QueryContext", "database/sql.(*Stmt).QueryRow": "QueryRowContext", "database/sql.(*Stmt).Exec": "ExecContext",
	"net/http.Get": "http.NewRequestWithContext", "net/http.Post": "http.NewRequestWithContext", "net/http.Head": "http.NewRequestWithContext",
	"net/http.PostForm":      "http.NewRequestWithContext",
	"net/http.(*Client).Get": "http.NewRequestWithContext", "net/http.(*Client).Post": "http.NewRequestWithContext",
	"net/http.(*Client).Head": "http.NewRequestWithContext", "net/http.(*Client).PostForm": "http.NewRequestWithContext",
	"net.Dial": "net.Dialer.DialContext", "net.DialTimeout": "net.Dialer.DialContext",
}

// Contextless finds the call in a stack that takes no context, and the call to use instead. Of
// nested calls it returns the outermost, which is the service's.
func Contextless(frames []record.Frame) (call, instead string, found bool) {
	for _, f := range slices.Backward(frames) {
		if instead, found = withoutContext[f.Function]; found {
			return f.Function, instead, true
		}
	}
	return "", "", false
}

// SystemCall is the name of the system call: the function of package syscall (or x/sys/unix) that
// another package calls.
func SystemCall(frames []record.Frame) string {
	name := ""
	for _, f := range frames {
		switch pkg := Package(f.Function); {
		case pkg == "syscall" || pkg == "golang.org/x/sys/unix":
			name = strings.ToLower(strings.TrimPrefix(f.Function, pkg+"."))
		case name != "":
			return name
		}
	}
	return name
}
