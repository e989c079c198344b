package transfer

import (
	"embed"

	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

var putScript = wire.Script(luaFiles, "put.lua")
