package routing

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"sim/engine"
)

// version is that of the optimiser: choices that others made are not used.
const version = 4

// kept is a choice as it is cached: for the canonical fault, by class.
type kept struct {
	Ways    [][]engine.Step // by class; empty where it has no flow
	Each    bool            // every pair has ways of its own
	Rule    *WildFirst      // of channels; nil where the ways have their own
	Bound   float64
	Split   float64 // Decision.BoundSplit
	Metrics map[string]float64
	Labels  map[string]string

	Least, LeastSplit engine.Time // of Decision
}

// key is a hash of all that a choice depends on.
func (r *optimiser) key() string {
	h := sha256.New()
	number := func(of ...int64) {
		for _, x := range of {
			put(h, uint64(x))
		}
	}
	list := func(of []int) {
		number(int64(len(of)))
		for _, x := range of {
			number(int64(x))
		}
	}
	flag := func(b bool) {
		if b {
			number(1)
		} else {
			number(0)
		}
	}
	number(version, int64(r.seed), int64(r.NeighbourCap), r.Budget, int64(r.Rounds), int64(r.TimeLimit))
	flag(r.MILP)
	for _, text := range []string{r.Solver, r.WildFirst.Use, r.WildFirst.Channels} {
		number(int64(len(text)))
		h.Write([]byte(text))
	}
	flag(r.WildFirst.Free)
	for _, of := range [][]int{r.WildFirst.Wild, r.WildFirst.Order} {
		flag(of == nil)
		list(of)
	}
	p := r.p
	flag(p.Torus == nil)
	if t := p.Torus; t != nil {
		list(t.Dims)
		for _, open := range t.Open {
			flag(open)
		}
		number(int64(len(t.Shift)))
		for _, v := range t.Shift {
			list(v)
		}
	}
	number(int64(p.Network.Nodes), int64(len(p.Network.Links)))
	for _, l := range p.Network.Links {
		number(int64(l.From)<<32|int64(l.To), int64(l.Channels))
		flag(l.Rate > 0)
	}
	if differ := p.RatesDiffer(); differ {
		put(h, math.Float64bits(p.reference()))
		for _, l := range p.Network.Links {
			put(h, math.Float64bits(l.Rate))
		}
	} else {
		flag(differ)
	}
	flag(p.Graph != nil)
	if g := p.Graph; g != nil {
		number(int64(len(g.Tasks)), int64(g.EdgeCount()))
		for i, t := range g.Tasks {
			number(int64(t.Kind), int64(t.Src)<<32|int64(t.Dst), t.Bytes, int64(t.Duration), int64(t.Flows))
			for _, e := range g.In(int32(i)) {
				number(int64(e.From), int64(e.Lag))
			}
		}
		put(h, math.Float64bits(p.fastest()))
	}
	flag(p.Uniform())
	if !p.Uniform() {
		number(int64(len(p.Flows)))
		for i, f := range p.Flows {
			number(int64(f.Src)<<32 | int64(f.Dst))
			if p.Demand != nil {
				put(h, math.Float64bits(p.Demand[i]))
			}
		}
		flag(p.Demand == nil)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func put(h io.Writer, x uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], x)
	_, _ = h.Write(b[:]) // of a hash: never fails
}

// path returns the file of a choice.
func (r *optimiser) path(key string) string { return filepath.Join(r.Cache, "routes-"+key[:32]) }

// mostKept is the most bytes of a choice that is read.
const mostKept = 1 << 30

// load returns a choice that was cached; nil where there is none that is whole.
func (r *optimiser) load(key string) *kept {
	f, err := os.Open(r.path(key))
	if err != nil {
		return nil
	}
	defer f.Close()
	var head [2 * sha256.Size]byte
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > mostKept {
		return nil
	}
	if _, err := io.ReadFull(f, head[:]); err != nil || hex.EncodeToString(head[sha256.Size:]) != key {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(f, mostKept))
	if err != nil {
		return nil
	}
	h := sha256.New()
	h.Write(head[sha256.Size:])
	h.Write(body)
	if !bytes.Equal(h.Sum(nil), head[:sha256.Size]) {
		return nil
	}
	k := new(kept)
	if gob.NewDecoder(bytes.NewReader(body)).Decode(k) != nil {
		return nil
	}
	return k
}

// store caches a choice: a file is there whole or not at all.
func (r *optimiser) store(key string, k *kept) (err error) {
	fail := func(err error) error { return fmt.Errorf("routing: keeping routes in the cache: %w", err) }
	var body bytes.Buffer
	whole, err := hex.DecodeString(key)
	if err != nil {
		return fail(err)
	}
	body.Write(whole)
	if err := gob.NewEncoder(&body).Encode(k); err != nil {
		return fail(err)
	}
	if err := os.MkdirAll(r.Cache, 0o755); err != nil {
		return fail(err)
	}
	f, err := os.CreateTemp(r.Cache, "tmp-routes-")
	if err != nil {
		return fail(err)
	}
	sum := sha256.Sum256(body.Bytes())
	_, err = f.Write(append(sum[:], body.Bytes()...))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), r.path(key))
	}
	if err != nil {
		return fail(errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}
