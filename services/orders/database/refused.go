package database

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// RefusedParameter returns the start-up parameter that a pooler does not take. PgBouncer names it,
// with the code of a protocol violation.
func RefusedParameter(err error) (name string, ok bool) {
	fault, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return "", false
	}
	const says = "unsupported startup parameter"
	_, name, ok = strings.Cut(fault.Message, says)
	name = strings.TrimPrefix(name, " in options") // where it came as options=-c name=value
	return strings.TrimSpace(strings.TrimPrefix(name, ":")), ok
}

// refusal reports whether an error says that no connection can be made before a person has
// changed something, and what. Of several hosts each must have said so, but for those that were
// passed over: another may only be away.
func refusal(err error) (fix string, refused bool) {
	if _, connecting := errors.AsType[*pgconn.ConnectError](err); !connecting {
		return "", false
	}
	for _, cause := range causes(err) {
		switch cause := cause.(type) {
		case *pgconn.PgError:
			if fix, refused = refusalOf(cause); !refused {
				return "", false
			}
		case net.Error:
			return "", false
		}
	}
	return fix, refused
}

// causes takes an error apart into what several hosts said, or what kept them from it.
func causes(err error) (all []error) {
	switch e := err.(type) {
	case *pgconn.PgError, net.Error:
		return []error{err}
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			all = append(all, causes(one)...)
		}
		return all
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return causes(inner)
		}
	}
	return []error{err}
}

// refusalOf says what to change after what a server or a pooler said to a connection.
func refusalOf(fault *pgconn.PgError) (fix string, permanent bool) {
	if name, ok := RefusedParameter(fault); ok {
		return fmt.Sprintf("take %s out of the DSN and set it on the role (ALTER ROLE ... SET), or have the pooler pass it on or ignore it (PgBouncer: ignore_startup_parameters)", name), true
	}
	switch code := fault.Code; {
	case strings.HasPrefix(code, "28"), code == "08P01" && containsAny(fault.Message, "authentication failed", "no such user", "not allowed"):
		return "make the DSN's user and password right, and let the user in there (pg_hba.conf, or the pooler's own file)", true
	case code == "3D000", code == "08P01" && strings.Contains(fault.Message, "no such database"):
		return "make the database, or name another in the DSN", true
	case code == "42501":
		return "grant the DSN's user CONNECT on the database", true
	case code == "22023", code == "42704", code == "0A000":
		return "the DSN asks for what this server does not have: take it out", true
	}
	return "", false
}

func containsAny(text string, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}
