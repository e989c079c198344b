.PHONY: help run test bench generate lint

help: ## show this
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' Makefile

run: ## serve on http://127.0.0.1:8080
	go run .

test: ## run every test with the race detector
	./test.sh

bench: ## measure a page and a vote at 1,000, 100,000 and 1,000,000 articles, and 5,000 watchers
	go test -run '^$$' -bench Site -benchmem .
	go test -run '^$$' -bench Watchers -benchtime 1x .

generate: ## write graph/generated.go anew from schema.graphqls
	go generate ./...

lint: ## what CI checks beside the tests
	test -z "$$(gofmt -l .)"
	go vet ./...
	GOOS=windows go vet . ./store
	GOOS=darwin go vet . ./store
