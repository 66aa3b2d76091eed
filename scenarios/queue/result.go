// This file stores results on the server and reads them. Workers store, and publishers
// read.

package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// A result is a message in its batch's stream with the result as JSON. If that exceeds
// the limit of a message, the data are split into parts, which are stored first as
// messages of their own; the message then has the number of parts. A result with missing
// parts is invalid.
const (
	partsHeader = "Sim-Parts" // number of parts
	keyHeader   = "Sim-Key"   // Result.Key of a result in parts
	partBytes   = 512 << 10   // size of a part; servers accept 1 MB by default
	// maxResultText is the maximum length of the JSON, in which data take 4/3 of their size.
	// 1 KiB is for the other members.
	maxResultText = MaxResult/3*4 + 1<<10
)

// storeResult stores a result. Each result has a unique id, so no reader sees a partially
// written one.
func (l *queueLink) storeResult(ctx context.Context, p batchAddress, r *Result) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	// Store the parts of a large result first.
	id := nuid.Next()
	m := &nats.Msg{Subject: p.resultSubject(id), Data: data}
	if maxPart := int(min(partBytes, l.nc.MaxPayload())); len(data) > maxPart {
		for part := range slices.Chunk(data, maxPart) {
			if err := l.publishMessage(ctx, &nats.Msg{Subject: p.partSubject(id), Data: part}); err != nil {
				return err
			}
		}
		m.Data = nil
		m.Header = nats.Header{partsHeader: {strconv.Itoa((len(data) + maxPart - 1) / maxPart)}, keyHeader: {r.Key}}
	}
	return l.publishMessage(ctx, m)
}

// publishMessage stores a message on the server.
func (l *queueLink) publishMessage(ctx context.Context, m *nats.Msg) error {
	ctx, cancel := l.requestContext(ctx)
	defer cancel()
	_, err := l.js.PublishMsg(ctx, m)
	return err
}

// nextMessage returns the first message of a subject with a number of at least sequence.
func (l *queueLink) nextMessage(ctx context.Context, s jetstream.Stream, sequence uint64, subject string) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := l.requestContext(ctx)
	defer cancel()
	return s.GetMsg(ctx, sequence, jetstream.WithGetMsgSubject(subject))
}

// readResult returns the result in m. Results are not trusted: an oversized one becomes a
// failure. If m contains no result, or was removed in the meantime, readResult returns
// neither a result nor an error.
func (l *queueLink) readResult(ctx context.Context, s jetstream.Stream, p batchAddress, m *jetstream.RawStreamMsg) (*Result, error) {
	// Collect the parts. why is the reason for which the result is invalid.
	data := m.Data
	var why error
	if parts := m.Header.Get(partsHeader); parts != "" {
		n, err := strconv.Atoi(parts)
		why = err
		for sequence := uint64(1); n > 0 && len(data) <= maxResultText; n-- {
			part, err := l.nextMessage(ctx, s, sequence, p.partSubject(lastToken(m.Subject)))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			sequence, data = part.Sequence+1, append(data, part.Data...)
		}
	}
	// Decode the result and check its size.
	r := &Result{}
	switch key := m.Header.Get(keyHeader); {
	case why != nil:
	case len(data) > maxResultText && key != "":
		return tooLargeResult(key), nil
	case len(data) > maxResultText:
		why = fmt.Errorf("it takes more than %d bytes", maxResultText)
	default:
		why = json.Unmarshal(data, r)
	}
	switch {
	case why != nil:
		l.Log("%s: results in %s cannot be read: %v; their items are run again", l.address, printableLine(m.Subject), why)
		return nil, nil
	case len(r.Data) > MaxResult:
		return tooLargeResult(r.Key), nil
	case r.Failed != "":
		failed := failedResult(r.Key, r.Failed)
		failed.Permanent = r.Permanent
		return failed, nil
	}
	return r, nil
}

// lastToken returns the last part of a subject.
func lastToken(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

// tooLargeResult returns the failure of an item with an oversized result.
func tooLargeResult(key string) *Result {
	failed := failedResult(key, fmt.Sprintf("its result takes more than the %d bytes that a queue takes at most", MaxResult))
	failed.Permanent = true
	return failed
}

// failedResult returns the failure of an item, which may succeed if it is tried again. why is
// reduced to one printable line.
func failedResult(key, why string) *Result {
	return &Result{Key: key, Failed: cmp.Or(printableLine(why), "it failed without a word")}
}
