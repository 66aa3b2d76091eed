package queue

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// saver stores results, all that are ready at a time as one object a batch, and then acknowledges their items.
type saver struct {
	w    *worker
	done chan struct{} // closed when all is stored

	mu    sync.Mutex
	ready []saved
	bytes int           // of ready
	count int           // of results that are not stored yet, ready included
	ended bool          // no more come
	some  chan struct{} // holds one value if there may be something to do
	space chan struct{} // closed, and made anew, when ready was taken or results stored

	known map[place]bool // stores that are there; of run's goroutine
}

// saved is a result on its way to the store.
type saved struct {
	t *task
	r *Result
}

func newSaver(w *worker) *saver {
	return &saver{w: w, done: make(chan struct{}), some: make(chan struct{}, 1), space: make(chan struct{}), known: map[place]bool{}}
}

// add hands over a result. It waits while as much as a few bundles waits to be stored, so that quick items cannot fill
// the memory.
func (s *saver) add(ctx context.Context, r saved) {
	s.mu.Lock()
	for s.bytes > 4*bundleBytes {
		space := s.space
		s.mu.Unlock()
		select {
		case <-space:
		case <-ctx.Done():
			return // the item stays unacknowledged
		}
		s.mu.Lock()
	}
	s.ready = append(s.ready, r)
	s.count++
	s.bytes += r.r.size()
	s.mu.Unlock()
	s.signal()
}

// wait waits until all that was added is stored.
func (s *saver) wait(ctx context.Context) {
	s.mu.Lock()
	for s.count > 0 {
		space := s.space
		s.mu.Unlock()
		select {
		case <-space:
		case <-ctx.Done():
			return
		}
		s.mu.Lock()
	}
	s.mu.Unlock()
}

func (s *saver) signal() {
	select {
	case s.some <- struct{}{}:
	default:
	}
}

// moved wakes those that wait in add and wait. The caller holds the lock.
func (s *saver) moved() {
	close(s.space)
	s.space = make(chan struct{})
}

// end says that no more results come.
func (s *saver) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.signal()
}

// run stores results until all is stored after end, or ctx ends.
func (s *saver) run(ctx context.Context) error {
	defer close(s.done)
	for {
		s.mu.Lock()
		ready, ended := s.ready, s.ended
		s.ready, s.bytes = nil, 0
		s.moved()
		s.mu.Unlock()
		if len(ready) == 0 {
			if ended {
				return nil
			}
			select {
			case <-s.some:
			case <-ctx.Done():
				return nil
			}
			continue
		}
		for len(ready) > 0 {
			n, size := 1, ready[0].r.size()
			for n < min(len(ready), bundleResults) && ready[n].t.place == ready[0].t.place && size+ready[n].r.size() <= bundleBytes {
				size += ready[n].r.size()
				n++
			}
			if err := s.store(ctx, ready[:n]); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
			ready = ready[n:]
			s.mu.Lock()
			s.count -= n
			s.moved()
			s.mu.Unlock()
		}
	}
}

// store stores results of one batch in an object and acknowledges their items. An object's name is never used twice: it
// is complete or not there, and nobody reads what another is writing.
func (s *saver) store(ctx context.Context, rs []saved) error {
	trouble := trouble{l: s.w.l, doing: "storing results"}
	results := make([]*Result, len(rs))
	for i, r := range rs {
		results[i] = r.r
	}
	for {
		err := s.put(ctx, rs[0].t.place, results)
		if err == nil {
			break
		}
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			return s.unwanted(rs)
		}
		if err := trouble.pause(ctx, err); err != nil {
			return err
		}
	}
	for _, r := range rs {
		s.w.drop(r.t)
		s.w.warn(r.t.msg.Ack())
		if r.t.begun > 0 {
			s.w.uncounted(s.w.setBegun(ctx, r.t, 0))
		}
	}
	return nil
}

// put stores results as an object.
func (s *saver) put(ctx context.Context, p place, results []*Result) error {
	data, err := json.Marshal(results)
	if err != nil {
		return err
	}
	return s.object(ctx, p, results[0].Key, data)
}

// object stores an object as jetstream.ObjectStore.Put does: its chunks and then its description, without which it is
// not there. It saves Put's question whether the name is taken; and Put, of nats.go 1.55, leaves a goroutine behind now
// and then.
func (s *saver) object(ctx context.Context, p place, description string, data []byte) error {
	l := s.w.l
	if !s.known[p] {
		ctx, cancel := l.call(ctx)
		defer cancel()
		if _, err := l.js.ObjectStore(ctx, p.bucket()); err != nil {
			return err
		}
		s.known[p] = true
	}
	sum := sha256.Sum256(data)
	info := jetstream.ObjectInfo{
		ObjectMeta: jetstream.ObjectMeta{Name: nuid.Next(), Description: description, Opts: &jetstream.ObjectMetaOptions{ChunkSize: uint32(min(chunkBytes, l.nc.MaxPayload()))}},
		Bucket:     p.bucket(), NUID: nuid.Next(), Size: uint64(len(data)), Digest: digestKind + base64.URLEncoding.EncodeToString(sum[:]),
	}
	var acks []jetstream.PubAckFuture
	send := func(subject string, header nats.Header, data []byte) error {
		ack, err := l.js.PublishMsgAsync(&nats.Msg{Subject: subject, Header: header, Data: data})
		acks = append(acks, ack)
		return err
	}
	arrive := func() error {
		for _, ack := range acks {
			select {
			case <-ack.Ok():
			case err := <-ack.Err():
				return err
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		acks = acks[:0]
		return nil
	}
	err := func() error {
		for chunk := range slices.Chunk(data, int(info.Opts.ChunkSize)) {
			info.Chunks++
			if err := send(p.chunks(info.NUID), nil, chunk); err != nil {
				return err
			}
			if len(acks) == 16 { // enough under way
				if err := arrive(); err != nil {
					return err
				}
			}
		}
		text, err := json.Marshal(info)
		if err != nil {
			return err
		}
		// The server takes messages of a connection in their order, so that the description is there only after the
		// chunks; that all of them are, is known only afterwards, unless there is but one.
		if info.Chunks > 1 {
			if err := arrive(); err != nil {
				return err
			}
		}
		if err := send(p.info(info.Name), nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}}, text); err != nil {
			return err
		}
		return arrive()
	}()
	if err != nil { // find out in the next try whether the store is there
		delete(s.known, p)
	}
	return err
}

// chunkBytes is the most that a chunk of an object holds.
const chunkBytes = 512 << 10

// unwanted drops results of a batch that has ended. Its items are done with.
func (s *saver) unwanted(rs []saved) error {
	s.w.o.Log("%s: %d results of batch %s are not wanted any more", s.w.l.where, len(rs), rs[0].t.place.batch)
	for _, r := range rs {
		s.w.drop(r.t)
		s.w.warn(r.t.msg.Term())
	}
	return nil
}
