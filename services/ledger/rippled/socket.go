package rippled

import (
	"context"
	"errors"
)

type socket struct{}

func newSocket(s *Server, url string) *socket { return &socket{} }

func (*socket) call(context.Context, request) (*body, error) { return nil, errors.ErrUnsupported }
func (*socket) close() error                                 { return nil }

func (s *Server) follow(ctx context.Context, streams []string, yield func(Event, error) bool) error {
	return errors.ErrUnsupported
}
