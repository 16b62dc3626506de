"""llama.cpp in process: any GGUF file, with exact prefix reuse.

An ordinary prefix cache changes answers: the same request, computed after another neighbour, rounds
differently, and a small judge's verdict flips. Here a request's shared prefix is computed from cold, its
state is saved, and restored before each call that declares it; so an answer depends on its request
alone. The cuts that a request declares form a chain: the state after one cut is computed from the saved
state after the cut before it.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import os
import shutil
import tempfile
import time
from collections import OrderedDict
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import httpx

from shared.judge.records import Completion, EngineDied, EngineError, Message, PromptTooLong, Request

PrefixCache = Literal["exact", "fast", "off"]

SAVED_BYTES = 2 * 2**30
"""Prefix states kept on disk (the embedded judge's take about 23 kB a token)."""

REQUEST_FORMAT = 1
"""Raised when a request is put to llama.cpp in another way, so that no old answer is replayed."""

SAMPLERS = ["top_p", "temperature"]
"""Every other sampler of llama.cpp is off."""

COMPACT = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
"""Read by llama.cpp's schema decoder: without it a small model wanders in white space between the fields."""

SCRATCH = "judge-states-"


class LlamaCppEngine:
    """One model, one slot: calls are answered one after the other.

    Parameters
    ----------
    model : Path
        A GGUF file.
    context : int
        Tokens of prompt and answer together.
    threads : int
        Part of the fingerprint: another number of threads rounds differently.
    prefix_cache : {"exact", "fast", "off"}
        ``exact`` as above; ``fast`` is llama.cpp's own cache, whose answers depend on the call before;
        ``off`` computes every prompt from cold.

    Raises
    ------
    EngineError
        If the file is absent or no model.
    """

    def __init__(
        self, *, model: Path, context: int = 4096, threads: int = 2, prefix_cache: PrefixCache = "exact"
    ) -> None:
        self.model = Path(model)
        self.context = context
        self.prefix_cache = prefix_cache
        if not self.model.is_file():
            raise EngineError(
                f"{self.model}: no such model file; run `make install` to unpack the embedded weights"
            )
        self.fingerprint: Mapping[str, Any] = {
            "engine": "llamacpp",
            "version": version("xllamacpp"),
            "model": self.model.name,
            "sha256": file_sha256(self.model),
            "context": context,
            "threads": threads,
            "prefix_cache": prefix_cache,
            "request_format": REQUEST_FORMAT,
            "samplers": SAMPLERS,
            "guidance": COMPACT,
        }
        self.computed_tokens = 0
        self._states: OrderedDict[str, str] = OrderedDict()
        self._names = itertools.count()
        self._turn = asyncio.Lock()
        self._folder = _scratch_folder()
        try:
            self._server = _start(self.model, context, threads, self._folder)
        except RuntimeError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise EngineError(
                f"{self.model}: llama.cpp cannot load it ({error}); is it a GGUF model?"
            ) from error
        self._http = httpx.AsyncClient(base_url=self._server.listening_address, timeout=None)

    async def complete(self, request: Request) -> Completion:
        """Answer one request.

        Raises
        ------
        PromptTooLong
            If prompt and ``max_tokens`` exceed the context; names the item.
        EngineError
            If the request sets a reasoning effort, for which llama.cpp has no switch.
        EngineDied
            If the server no longer answers.
        """
        if request.effort is not None:
            raise EngineError(
                f"{request.item or 'a request'}: llama.cpp has no switch for the reasoning effort "
                f"{request.effort!r}; ask this judge without one"
            )
        async with self._turn:
            tokens, cuts = await self.tokens(request.messages)
            if len(tokens) + request.max_tokens > self.context:
                raise PromptTooLong(
                    f"{request.item or 'a request'}: {len(tokens)} prompt tokens and {request.max_tokens} "
                    f"for the answer exceed the judge's context of {self.context}; "
                    "shorten the item or raise `context`"
                )
            started = time.perf_counter()
            if self.prefix_cache == "exact":
                await self._restore_prefix(tokens, cuts)
            answer = await self._post("/completion", _body(request, tokens, reuse=self.prefix_cache != "off"))
            return self._completion(answer, len(tokens), time.perf_counter() - started)

    async def aclose(self) -> None:
        await self._http.aclose()
        self._server = None  # the destructor stops the server's threads
        shutil.rmtree(self._folder, ignore_errors=True)

    async def tokens(self, messages: tuple[Message, ...]) -> tuple[list[int], list[int]]:
        """A conversation as token ids, and the cuts as positions among them.

        The model's own chat template is rendered around placeholders; special tokens are read in the
        template alone, so that no text can become a control token. A cut inside a token moves to that
        token's start.
        """
        frame = await self._template(messages)
        # llama.cpp takes the begin-of-text token out of a template, and puts it before the first piece.
        tokens = [t["id"] for t in await self._tokenize(frame[0], special=True, first=True)]
        cuts: list[int] = []
        for message, after in zip(messages, frame[1:], strict=True):
            pieces = await self._tokenize(message.content, special=False)
            cuts += [len(tokens) + n for n in _tokens_before(message, pieces)]
            tokens += [t["id"] for t in pieces]
            tokens += [t["id"] for t in await self._tokenize(after, special=True)]
        return tokens, sorted(set(cuts))

    async def _template(self, messages: tuple[Message, ...]) -> list[str]:
        """What the chat template writes before, between and after the messages' contents."""
        holes = [f"<hole-{i}>" for i in range(len(messages))]
        turns = [{"role": m.role, "content": hole} for m, hole in zip(messages, holes, strict=True)]
        rest = (await self._post("/apply-template", {"messages": turns}))["prompt"]
        frame: list[str] = []
        for hole in holes:
            before, found, rest = rest.partition(hole)
            if not found:
                roles = ", ".join(m.role for m in messages)
                raise EngineError(f"{self.model.name}: its chat template drops a turn ({roles})")
            frame.append(before)
        return [*frame, rest]

    async def _tokenize(self, text: str, *, special: bool, first: bool = False) -> list[dict[str, Any]]:
        if not text and not first:
            return []
        body = {"content": text, "add_special": first, "parse_special": special, "with_pieces": True}
        pieces: list[dict[str, Any]] = (await self._post("/tokenize", body))["tokens"]
        return pieces

    async def _restore_prefix(self, tokens: list[int], cuts: list[int]) -> None:
        """Put the slot into the state after the last cut, computing what is not saved yet."""
        links = _chain(tokens, cuts)
        saved = next((n for n in range(len(links), 0, -1) if links[n - 1] in self._states), 0)
        await self._slot("restore", self._states[links[saved - 1]]) if saved else await self._slot("erase")
        for link, cut in zip(links[saved:], cuts[saved:], strict=True):
            body = {"prompt": tokens[:cut], "n_predict": 0, "cache_prompt": True, "id_slot": 0}
            answer = await self._post("/completion", body)
            self.computed_tokens += answer["timings"]["prompt_n"]
            await self._save(link)
            # Restored even right after saving: the first answer must not differ from a later one.
            await self._slot("restore", self._states[link])
        for link in reversed(links):  # of a chain, the part that most requests share is kept longest
            if link in self._states:
                self._states.move_to_end(link)
        self._evict()

    def _evict(self) -> None:
        """Drop the states that were used longest ago; at least one stays."""
        sizes = {name: (self._folder / name).stat().st_size for name in self._states.values()}
        total = sum(sizes.values())
        while total > SAVED_BYTES and len(self._states) > 1:
            _, name = self._states.popitem(last=False)
            (self._folder / name).unlink()
            total -= sizes[name]

    async def _save(self, link: str) -> None:
        name = f"{next(self._names)}.state"
        await self._slot("save", name)
        self._states[link] = name

    async def _slot(self, action: str, filename: str | None = None) -> None:
        await self._post(f"/slots/0?action={action}", {"filename": filename} if filename else {})

    async def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        try:
            reply = await self._http.post(path, json=body)
        except httpx.HTTPError as error:
            raise EngineDied(
                f"llama.cpp no longer answers ({type(error).__name__}); run again to go on"
            ) from error
        if reply.status_code != 200:
            raise EngineError(f"llama.cpp refused {path}: {reply.text[:300]}")
        answer: dict[str, Any] = reply.json()
        return answer

    def _completion(self, answer: dict[str, Any], prompt_tokens: int, seconds: float) -> Completion:
        computed = answer["timings"]["prompt_n"]
        self.computed_tokens += computed
        return Completion(
            text=answer["content"],
            finish_reason="length" if answer["stop_type"] == "limit" else "stop",
            prompt_tokens=prompt_tokens,
            cached_tokens=prompt_tokens - computed,
            completion_tokens=answer["tokens_predicted"],
            seconds=seconds,
            model=self.model.name,
            logprobs=[_token_logprob(t) for t in answer.get("completion_probabilities", [])] or None,
        )


def _start(model: Path, context: int, threads: int, folder: Path) -> Any:
    # OpenMP's threads wait for one another by spinning, half a minute a call where another program wants
    # the same cores. Read when the library is loaded; it changes no number.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    import xllamacpp  # loads a shared library: only where a model is really served

    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.n_ctx, params.n_parallel = context, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.slot_save_path = f"{folder}/"
    params.endpoint_slots = True
    params.cache_ram_mib = 0
    params.verbosity = 0
    return xllamacpp.Server(params)


def _body(request: Request, tokens: list[int], *, reuse: bool) -> dict[str, Any]:
    """The request in llama.cpp's own words."""
    body: dict[str, Any] = {
        "prompt": tokens,
        "n_predict": request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "samplers": SAMPLERS,
        "seed": request.seed + request.replicate,
        "cache_prompt": reuse,
        "id_slot": 0,
    }
    if request.schema is not None:
        body["json_schema"] = {**request.schema, "x-guidance": COMPACT}
    if request.top_logprobs:
        body["n_probs"] = request.top_logprobs
    return body


def _token_logprob(entry: dict[str, Any]) -> dict[str, Any]:
    top = {t["token"]: t["logprob"] for t in entry["top_logprobs"]}
    return {"token": entry["token"], "logprob": entry["logprob"], "top": top}


def _tokens_before(message: Message, pieces: list[dict[str, Any]]) -> list[int]:
    """How many of the message's tokens lie wholly before each of its cuts."""
    ends = list(itertools.accumulate(_length(t["piece"]) for t in pieces))
    targets = [len(message.content[:cut].encode()) for cut in message.cuts]
    return [sum(end <= target for end in ends) for target in targets]


def _length(piece: str | list[int]) -> int:
    """Bytes of a token; llama.cpp gives a list of bytes where they are no UTF-8 of their own."""
    return len(piece.encode()) if isinstance(piece, str) else len(piece)


def _chain(tokens: list[int], cuts: list[int]) -> list[str]:
    """A name for the state after each cut: it depends on the tokens and on where the cuts before it lie."""
    names: list[str] = []
    start, name = 0, ""
    for cut in cuts:
        name = hashlib.sha256(f"{name}{tokens[start:cut]}".encode()).hexdigest()
        names.append(name)
        start = cut
    return names


def _scratch_folder() -> Path:
    """A folder for saved states; folders of processes that were killed are removed."""
    root = Path(tempfile.gettempdir())
    for old in root.glob(f"{SCRATCH}*"):
        pid = old.name.removeprefix(SCRATCH).split("-")[0]
        if pid.isdigit() and not _alive(int(pid)):
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{SCRATCH}{os.getpid()}-"))


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
