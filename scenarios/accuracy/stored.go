package accuracy

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"strconv"
	"sync"
)

// storedFile holds the predictions of the ledger by the present models and profiles, one line per
// predicted row: id, machine, predicted value. The command make accuracy writes it.
//
//go:embed predictions.csv
var storedFile []byte

// Stored returns the stored predictions of all rows of the ledger. Callers must not change them.
var Stored = sync.OnceValue(func() []Prediction {
	lines, err := csv.NewReader(bytes.NewReader(storedFile)).ReadAll()
	if err != nil {
		panic(err) // TestStored reads the file
	}
	byID := map[string][]string{}
	for _, fields := range lines {
		byID[fields[0]] = fields
	}
	var out []Prediction
	for _, r := range Ledger() {
		p := Prediction{Row: r, Class: classOf(r).name, Reason: "no prediction is stored"}
		if fields := byID[r.ID]; fields != nil {
			p.Machine, p.Reason = fields[1], ""
			if p.Value, err = strconv.ParseFloat(fields[2], 64); err != nil {
				panic(err)
			}
		}
		out = append(out, p)
	}
	return out
})
