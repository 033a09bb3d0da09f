package jetstream

import (
	"context"
	"errors"
	"net/http"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

var (
	// errFenced says that the stream is not as this writer left it.
	errFenced = errors.New("the stream was changed by another")
	// errUnsettled says that a server's view of the stream contradicts its answer, as when a leader is
	// new: to be tried again.
	errUnsettled = errors.New("the servers do not yet agree where the stream ends")
	// errPartial says that a batch is stored in part. It passes when the server was just about to
	// store it.
	errPartial = errors.New("the stream ends in the middle of a batch, as when a server has no room: give it more and restart it, so that it stores the rest")
)

// Codes of the server's errors that nats.go has no names for.
const (
	codeNotLeader          jetstream.ErrorCode = 10009
	codeAccountResources   jetstream.ErrorCode = 10002
	codeNoResources        jetstream.ErrorCode = 10023
	codeStorageResources   jetstream.ErrorCode = 10047
	codeStoreFailed        jetstream.ErrorCode = 10077 // the stream's own limits, or its disk
	codeIncompleteBatch    jetstream.ErrorCode = 10176 // a message before the last was lost on the way
	codeBatchTooLarge      jetstream.ErrorCode = 10199
	codeTooManyBatches     jetstream.ErrorCode = 10210
	codeWrongLast                              = jetstream.JSErrCodeStreamWrongLastSequence
	codeWrongLastInCluster                     = jetstream.JSErrCodeStreamWrongLastSequenceConstant
)

// misplaced reports whether the server refused a write because the stream ends elsewhere.
func misplaced(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == codeWrongLast || api.ErrorCode == codeWrongLastInCluster)
}

// full reports whether the server has no room.
func full(err *jetstream.APIError) bool {
	switch err.ErrorCode {
	case codeAccountResources, codeNoResources, codeStorageResources, codeStoreFailed:
		return true
	}
	return false
}

// passing reports whether a request that ended with err may succeed when it is made again: the
// servers were not reached, did not answer in time, or are electing a leader.
func passing(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode {
		case codeNotLeader, codeIncompleteBatch, codeTooManyBatches:
			return true
		}
		return api.Code == http.StatusServiceUnavailable && !full(api)
	}
	for _, passes := range []error{
		context.DeadlineExceeded, errUnsettled, errPartial, errBehind,
		nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected, nats.ErrConnectionReconnecting,
		nats.ErrReconnectBufExceeded, nats.ErrStaleConnection, nats.ErrNoServers,
		jetstream.ErrNoStreamResponse,
	} {
		if errors.Is(err, passes) {
			return true
		}
	}
	return false
}
