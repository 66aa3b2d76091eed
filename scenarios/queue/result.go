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

// A result is a message in its batch's stream: its JSON, or, where that is more than a message may hold, the number of
// parts that it was cut into, which are messages of their own and come first. A result without all its parts is none.
const (
	partsHeader   = "Sim-Parts"
	keyHeader     = "Sim-Key"
	partBytes     = 512 << 10
	maxResultText = MaxResult/3*4 + 1<<10 // of JSON: its data take four thirds of their size
)

// storeResult stores a result. An id is never used twice, so that nobody reads what another is writing.
func (l *link) storeResult(ctx context.Context, p batchAddress, r *Result) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	id := nuid.Next()
	m := &nats.Msg{Subject: p.resultSubject(id), Data: data}
	if most := int(min(partBytes, l.nc.MaxPayload())); len(data) > most {
		for part := range slices.Chunk(data, most) {
			if err := l.publishMessage(ctx, &nats.Msg{Subject: p.partSubject(id), Data: part}); err != nil {
				return err
			}
		}
		m.Data = nil
		m.Header = nats.Header{partsHeader: {strconv.Itoa((len(data) + most - 1) / most)}, keyHeader: {r.Key}}
	}
	return l.publishMessage(ctx, m)
}

// publishMessage has the server store a message.
func (l *link) publishMessage(ctx context.Context, m *nats.Msg) error {
	ctx, cancel := l.requestContext(ctx)
	defer cancel()
	_, err := l.js.PublishMsg(ctx, m)
	return err
}

// nextMessage returns the first message of a stream from at on of a subject.
func (l *link) nextMessage(ctx context.Context, s jetstream.Stream, at uint64, subject string) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := l.requestContext(ctx)
	defer cancel()
	return s.GetMsg(ctx, at, jetstream.WithGetMsgSubject(subject))
}

// readResult returns the result that is in m. It comes from elsewhere: nothing is kept of one that is larger than results may
// be. Where it is no result, or was removed meanwhile, there is neither result nor error.
func (l *link) readResult(ctx context.Context, s jetstream.Stream, p batchAddress, m *jetstream.RawStreamMsg) (*Result, error) {
	data, why := m.Data, error(nil)
	if parts := m.Header.Get(partsHeader); parts != "" {
		n, err := strconv.Atoi(parts)
		why = err
		for at := uint64(1); n > 0 && len(data) <= maxResultText; n-- {
			part, err := l.nextMessage(ctx, s, at, p.partSubject(lastToken(m.Subject)))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			at, data = part.Sequence+1, append(data, part.Data...)
		}
	}
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
		return failedResult(r.Key, r.Failed, r.Permanent), nil
	}
	return r, nil
}

func lastToken(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

// tooLargeResult is the result of an item whose result was.
func tooLargeResult(key string) *Result {
	return failedResult(key, fmt.Sprintf("its result takes more than the %d bytes that a queue takes at most", MaxResult), true)
}

// failedResult is the result of an item that has none. Whoever wrote why, it is one printable line.
func failedResult(key, why string, always bool) *Result {
	return &Result{Key: key, Failed: cmp.Or(printableLine(why), "it failed without a word"), Permanent: always}
}
