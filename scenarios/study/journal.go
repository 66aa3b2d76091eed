// This file reads and locks journals, which store the records of finished cells line
// by line.

package study

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"sim/internal/infile"
	"sim/scenarios/result"
)

// journalFile is the journal of a sweep computed by one process.
const journalFile = "cells.jsonl"

// journalBlock is the number of bytes of a journal that are read at once.
const journalBlock = 1 << 16

// openJournal locks a journal for this process and removes an incomplete last record.
func (s *Store) openJournal(name string) error {
	path := filepath.Join(s.Dir, name)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return result.Unwritable(s.Dir, err)
	}
	if !result.Lock(f) {
		f.Close()
		return &result.PlaceError{Path: s.Dir, Why: "another sweep is being written there; wait for it, share its cells with --join, or choose another directory with --out"}
	}
	const start = 0 // offset of the first line
	whole, length, err := completeLines(f, start)
	if err != nil {
		return errors.Join(result.Unreadable(path, err), f.Close())
	}
	s.journal, s.size = f, whole
	if whole < length {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%s: its last record was not written to its end; that cell is computed again", path))
		if err := f.Truncate(s.size); err != nil {
			return errors.Join(result.Unwritable(path, err), f.Close())
		}
	}
	if _, err := f.Seek(s.size, io.SeekStart); err != nil {
		return errors.Join(result.Unwritable(path, err), f.Close())
	}
	return nil
}

// completeLines reads a file from offset from, which is the start of a line. It returns
// the offset after the last complete line and the length of the file.
func completeLines(f *os.File, from int64) (whole, length int64, err error) {
	block := make([]byte, journalBlock)
	whole, length = from, from
	for {
		n, err := f.ReadAt(block, length)
		if i := bytes.LastIndexByte(block[:n], '\n'); i >= 0 {
			whole = length + int64(i) + 1
		}
		length += int64(n)
		if err == io.EOF {
			return whole, length, nil
		}
		if err != nil {
			return 0, 0, err
		}
	}
}

// maxRecordBytes is the maximum length of a record: ten times the largest one with
// trials. Tests reduce it.
var maxRecordBytes = 64 << 20

// maxWarningsPerJournal is the number of damaged records of a journal that are reported
// individually, as many as a screen shows. Others are counted.
const maxWarningsPerJournal = 20

// readJournal reads the records of a journal.
func (s *Store) readJournal(path string) error {
	f, _, err := infile.Open(path)
	if s.journalOffsets != nil && errors.Is(err, fs.ErrNotExist) {
		// A worker without results has removed its journal since it was listed.
		return nil
	}
	if err != nil {
		return result.Unreadable(path, err)
	}
	defer f.Close()

	// A shared journal is read from the last known offset to the last complete line, because
	// another process may be writing the line after it.
	var from io.Reader = f
	if s.journalOffsets != nil {
		begin := s.journalOffsets[path]
		end, _, err := completeLines(f, begin)
		if err != nil {
			return result.Unreadable(path, err)
		}
		from, s.journalOffsets[path] = io.NewSectionReader(f, begin, end-begin), end
	}

	// Read the records line by line.
	in := bufio.NewReaderSize(from, journalBlock)
	var text []byte // the line, in a buffer that all lines share
	damaged := 0    // number of damaged records
	for n := 1; ; n++ {
		var r *Record
		text, err = readLine(in, text)
		if err == nil {
			r, err = parseRecord(text)
		}
		switch {
		case err == nil:
			// A record with a newer table of metrics has more metrics.
			if old := s.records[r.Key]; old == nil || old.Table <= r.Table {
				s.records[r.Key] = r
			}
		case errors.Is(err, io.EOF):
			if more := damaged - maxWarningsPerJournal; more > 0 {
				s.Warnings = append(s.Warnings, fmt.Sprintf("%s: %d more records are damaged", path, more))
			}
			return nil
		case errors.Is(err, errInvalidRecord):
			if damaged++; damaged <= maxWarningsPerJournal {
				s.Warnings = append(s.Warnings, fmt.Sprintf("%s:%d: %v; a cell that it alone held is computed again", path, n, err))
			}
		default:
			return result.Unreadable(path, err)
		}
	}
}

// errInvalidRecord is wrapped by errors about invalid lines of a journal.
var errInvalidRecord = errors.New("damaged")

// readLine reads a line into the buffer of the previous one. It returns io.EOF at the end
// of the file. A line longer than maxRecordBytes is skipped with an error.
func readLine(in *bufio.Reader, text []byte) ([]byte, error) {
	text = text[:0]
	for long := false; ; {
		part, err := in.ReadSlice('\n')
		if long = long || len(text)+len(part) > maxRecordBytes; !long {
			text = append(text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(text) == 0 && !long):
			return text, err
		case long:
			return text, fmt.Errorf("%w (longer than %d MiB)", errInvalidRecord, maxRecordBytes>>20)
		}
		return bytes.TrimSuffix(text, []byte("\n")), nil
	}
}

// journalLine is a line of a journal: a record and the checksum of its JSON.
type journalLine struct {
	Sum  string          `json:"sum"`
	Cell json.RawMessage `json:"cell"`
}

// parseRecord parses and verifies a line.
func parseRecord(text []byte) (*Record, error) {
	var l journalLine
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, fmt.Errorf("%w (no JSON)", errInvalidRecord)
	}
	if l.Sum != checksum(l.Cell) {
		return nil, fmt.Errorf("%w (wrong checksum)", errInvalidRecord)
	}
	r := &Record{}
	if err := json.Unmarshal(l.Cell, r); err != nil || r.Key == "" {
		return nil, fmt.Errorf("%w (no record)", errInvalidRecord)
	}
	r.rename()
	if err := r.checkMetrics(); err != nil {
		return nil, fmt.Errorf("%w (%v)", errInvalidRecord, err)
	}
	return r, nil
}

// checksum returns half of the hexadecimal SHA-256 of a record's JSON, which is enough to
// detect damage.
func checksum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:sha256.Size/2])
}
